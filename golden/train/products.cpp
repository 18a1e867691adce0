#include "golden/train/products.h"

#include <cstring>

namespace qsim::golden::train {
namespace {

// Inlined into functions for one instruction set each: registers of `bytes` hold the sums.
#define QSIM_INLINE [[gnu::always_inline]] inline

template <typename Number, int bytes>
struct Vector {
  typedef Number Type __attribute__((vector_size(bytes)));
  static constexpr int kLanes = bytes / static_cast<int>(sizeof(Number));
};

template <typename Number, int bytes, int rows, int vectors>
QSIM_INLINE void multiply_rows(const Products<Number>& p) {
  using Numbers = typename Vector<Number, bytes>::Type;
  constexpr int kLanes = Vector<Number, bytes>::kLanes;
  Numbers sum[rows][vectors] = {};
  if (p.adds) std::memcpy(sum, p.sums, sizeof sum);
  const Number* a = p.a;
  const Number* b = p.b;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += p.b_step) {
    Numbers panel[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) std::memcpy(&panel[v], b + v * kLanes, bytes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const Number value = a[r * p.a_row];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] += value * panel[v];
    }
  }
  std::memcpy(p.sums, sum, sizeof sum);
}

template <typename Number, int bytes, int vectors>
QSIM_INLINE void multiply_lanes(const Products<Number>& p) {
  switch (p.rows) {
    case 1:
      return multiply_rows<Number, bytes, 1, vectors>(p);
    case 2:
      return multiply_rows<Number, bytes, 2, vectors>(p);
    case 3:
      return multiply_rows<Number, bytes, 3, vectors>(p);
    default:
      return multiply_rows<Number, bytes, 4, vectors>(p);
  }
}

// 32 lanes have 128 bytes, 8 have 32.
template <typename Number, int bytes>
QSIM_INLINE void multiply_with(const Products<Number>& p) {
  constexpr int kNarrow = bytes < 32 ? bytes : 32;
  if (p.lanes == 32) return multiply_lanes<Number, bytes, 128 / bytes>(p);
  return multiply_lanes<Number, kNarrow, 32 / kNarrow>(p);
}

template <typename Number>
using Multiply = void (*)(const Products<Number>&);

template <typename Number>
void multiply_portable(const Products<Number>& p) {
  multiply_with<Number, 16>(p);
}
#if defined(__x86_64__)
template <typename Number>
__attribute__((target("avx2"))) void multiply_avx2(const Products<Number>& p) {
  multiply_with<Number, 32>(p);
}
template <typename Number>
__attribute__((target("avx512f,avx512bw,avx512vl"))) void multiply_avx512(
    const Products<Number>& p) {
  multiply_with<Number, 64>(p);
}
#endif

template <typename Number>
Multiply<Number> multiply_of(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return multiply_avx512<Number>;
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return multiply_avx2<Number>;
#endif
    default:
      return multiply_portable<Number>;
  }
}

}  // namespace

void multiply(const Products<std::uint32_t>& products) {
  static const Multiply<std::uint32_t> kBest = multiply_of<std::uint32_t>(VectorPath::kAuto);
  kBest(products);
}

void multiply(const Products<float>& products) {
  static const Multiply<float> kBest = multiply_of<float>(VectorPath::kAuto);
  kBest(products);
}

void multiply(const Products<std::uint32_t>& products, VectorPath path) {
  multiply_of<std::uint32_t>(path)(products);
}

void multiply(const Products<float>& products, VectorPath path) {
  multiply_of<float>(path)(products);
}

}  // namespace qsim::golden::train
