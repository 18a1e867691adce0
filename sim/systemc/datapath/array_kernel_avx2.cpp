// ArrayKernel with AVX2: 16 multiply-accumulates an instruction.
#if defined(__x86_64__)
#include <immintrin.h>

#define QSIM_KERNEL_TARGET __attribute__((target("avx2")))
#define QSIM_INLINE QSIM_KERNEL_TARGET static inline __attribute__((always_inline))

#include "sim/systemc/datapath/array_block.h"
#include "sim/systemc/datapath/array_paths.h"
#include "sim/systemc/datapath/array_vectors.h"

namespace qsim::sim {
namespace {

// vpmaddwd on sign-extended pairs. (vpmaddubsw on bytes would saturate its 16-bit sums.)
struct Lanes8 : Vector8 {
  static constexpr bool kAddsBias = false;
  QSIM_INLINE Register multiply_add(Register sum, Register x, Register w) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
  }
};

struct Lanes4 : Vector4 {
  static constexpr bool kAddsBias = false;
  QSIM_INLINE Register multiply_add(Register sum, Register x, Register w) {
    return _mm_add_epi32(sum, _mm_madd_epi16(x, w));
  }
};

}  // namespace

// 12 of the 16 registers hold psums.
void run_array_avx2(const LaneView& view) {
  if (view.columns == 4) return array_block::run_blocks<Lanes4, 1, 12>(view);
  if (view.columns == 8) return array_block::run_blocks<Lanes8, 1, 12>(view);
  array_block::run_blocks<Lanes8, 2, 6>(view);
}

}  // namespace qsim::sim

#endif  // defined(__x86_64__)
