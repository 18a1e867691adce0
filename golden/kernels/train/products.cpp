#include "golden/kernels/train/products.h"

#include <cstring>

namespace qsim::golden::train {
namespace {

// Inlined into functions for one instruction set each: registers of `bytes` hold the sums.
#define QSIM_INLINE [[gnu::always_inline]] inline

template <int bytes>
struct Vector {
  typedef float Type __attribute__((vector_size(bytes)));
  static constexpr int kLanes = bytes / static_cast<int>(sizeof(float));
};

template <int bytes, int rows, int vectors>
QSIM_INLINE void multiply_rows(const Products& p) {
  using Numbers = typename Vector<bytes>::Type;
  constexpr int kLanes = Vector<bytes>::kLanes;
  Numbers sum[rows][vectors] = {};
  if (p.adds) std::memcpy(sum, p.sums, sizeof sum);
  const float* a = p.a;
  const float* b = p.b;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += p.b_step) {
    Numbers panel[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) std::memcpy(&panel[v], b + v * kLanes, bytes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const float value = a[r * p.a_row];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] += value * panel[v];
    }
  }
  std::memcpy(p.sums, sum, sizeof sum);
}

template <int bytes, int vectors>
QSIM_INLINE void multiply_lanes(const Products& p) {
  switch (p.rows) {
    case 1:
      return multiply_rows<bytes, 1, vectors>(p);
    case 2:
      return multiply_rows<bytes, 2, vectors>(p);
    case 3:
      return multiply_rows<bytes, 3, vectors>(p);
    default:
      return multiply_rows<bytes, 4, vectors>(p);
  }
}

// 32 lanes have 128 bytes, 8 have 32.
template <int bytes>
QSIM_INLINE void multiply_with(const Products& p) {
  constexpr int kNarrow = bytes < 32 ? bytes : 32;
  if (p.lanes == 32) return multiply_lanes<bytes, 128 / bytes>(p);
  return multiply_lanes<kNarrow, 32 / kNarrow>(p);
}

using Multiply = void (*)(const Products&);

void multiply_portable(const Products& p) { multiply_with<16>(p); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) void multiply_avx2(const Products& p) { multiply_with<32>(p); }
__attribute__((target("avx512f,avx512bw,avx512vl"))) void multiply_avx512(const Products& p) {
  multiply_with<64>(p);
}
#endif

Multiply multiply_of(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return multiply_avx512;
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return multiply_avx2;
#endif
    default:
      return multiply_portable;
  }
}

}  // namespace

void multiply(const Products& products) {
  static const Multiply kBest = multiply_of(VectorPath::kAuto);
  kBest(products);
}

void multiply(const Products& products, VectorPath path) { multiply_of(path)(products); }

}  // namespace qsim::golden::train
