// ArrayKernel with AVX-512 VNNI: 64 multiply-accumulates an instruction.
#if defined(__x86_64__)
#include <immintrin.h>

#define QSIM_KERNEL_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define QSIM_INLINE QSIM_KERNEL_TARGET static inline __attribute__((always_inline))

#include "sim/systemc/datapath/array_block.h"
#include "sim/systemc/datapath/array_paths.h"
#include "sim/systemc/datapath/array_vectors.h"

namespace qsim::sim {
namespace {

// vpdpbusd takes an unsigned byte times a signed one: activations come with 128 added, which the
// corrections take back.
struct Lanes16 {
  using Register = __m512i;
  static constexpr std::size_t kLanes = 16;
  static constexpr bool kAddsBias = true;
  QSIM_INLINE Register load(const void* from) { return _mm512_loadu_si512(from); }
  QSIM_INLINE void store(void* to, Register value) { _mm512_storeu_si512(to, value); }
  QSIM_INLINE Register add(Register a, Register b) { return _mm512_add_epi32(a, b); }
  QSIM_INLINE Register sub(Register a, Register b) { return _mm512_sub_epi32(a, b); }
  QSIM_INLINE Register broadcast(const std::uint32_t* from) {
    return _mm512_set1_epi32(static_cast<int>(*from));
  }
  QSIM_INLINE Register multiply_add(Register sum, Register x, Register w) {
    return _mm512_dpbusd_epi32(sum, x, w);
  }
};

struct Lanes8 : Vector8 {
  static constexpr bool kAddsBias = true;
  QSIM_INLINE Register multiply_add(Register sum, Register x, Register w) {
    return _mm256_dpbusd_epi32(sum, x, w);
  }
};

struct Lanes4 : Vector4 {
  static constexpr bool kAddsBias = true;
  QSIM_INLINE Register broadcast(const std::uint32_t* from) {
    return _mm_set1_epi32(static_cast<int>(*from));
  }
  QSIM_INLINE Register multiply_add(Register sum, Register x, Register w) {
    return _mm_dpbusd_epi32(sum, x, w);
  }
};

}  // namespace

// 24 of the 32 registers hold psums. Several vectors of columns share each broadcast pixel.
void run_array_avx512_vnni(const LaneView& view) {
  if (view.columns == 4) return array_block::run_blocks<Lanes4, 1, 24>(view);
  if (view.columns == 8) return array_block::run_blocks<Lanes8, 1, 24>(view);
  if (view.columns == 16) return array_block::run_blocks<Lanes16, 1, 24>(view);
  if (view.columns == 32) return array_block::run_blocks<Lanes16, 2, 12>(view);
  array_block::run_blocks<Lanes16, 4, 6>(view);
}

}  // namespace qsim::sim

#endif  // defined(__x86_64__)
