// The kernels with AVX2 and FMA. Six rows by two vectors are 12 sums; with two vectors of weights
// and a broadcast that is 15 of 16 registers.
#include "golden/graph/real/product_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "golden/common/float_formats.h"

#define QSIM_VECTOR __attribute__((target("avx2,fma")))

namespace qsim::golden {
namespace {

using Floats = __m256;
constexpr std::size_t kLanes = 8;
constexpr int kTileRows = 6;

QSIM_VECTOR inline Floats every(float value) { return _mm256_set1_ps(value); }
QSIM_VECTOR inline Floats load(const float* from) { return _mm256_loadu_ps(from); }
QSIM_VECTOR inline void store(float* to, Floats x) { _mm256_storeu_ps(to, x); }
QSIM_VECTOR inline __m256i first_lanes(std::size_t lanes) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), numbers);
}
QSIM_VECTOR inline Floats load_some(const float* from, std::size_t lanes) {
  return lanes == kLanes ? load(from) : _mm256_maskload_ps(from, first_lanes(lanes));
}
QSIM_VECTOR inline void store_some(float* to, Floats x, std::size_t lanes) {
  lanes == kLanes ? store(to, x) : _mm256_maskstore_ps(to, first_lanes(lanes), x);
}
QSIM_VECTOR inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
QSIM_VECTOR inline Floats multiply_add(Floats a, Floats b, Floats c) {
  return _mm256_fmadd_ps(a, b, c);
}
QSIM_VECTOR inline Floats canonical_lanes(Floats x) {
  return _mm256_blendv_ps(x, every(float_of(kFp32Nan)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

}  // namespace
}  // namespace qsim::golden

#include "golden/graph/real/product_kernels_body.h"

namespace qsim::golden {
const ProductKernels kAvx2Products = kProducts;
}  // namespace qsim::golden
#endif
