// The kernels with AVX-512. Fourteen rows by two vectors are 28 sums; with two vectors of weights
// and a broadcast that is 31 of 32 registers, and 16 loads for 28 multiply-adds.
#include "golden/graph/real/product_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "golden/common/float_formats.h"

#define QSIM_VECTOR __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace qsim::golden {
namespace {

using Floats = __m512;
constexpr std::size_t kLanes = 16;
constexpr int kTileRows = 14;

QSIM_VECTOR inline Floats every(float value) { return _mm512_set1_ps(value); }
QSIM_VECTOR inline Floats load(const float* from) { return _mm512_loadu_ps(from); }
QSIM_VECTOR inline void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
QSIM_VECTOR inline __mmask16 first_lanes(std::size_t lanes) {
  return static_cast<__mmask16>((1U << lanes) - 1);
}
QSIM_VECTOR inline Floats load_some(const float* from, std::size_t lanes) {
  return _mm512_maskz_loadu_ps(first_lanes(lanes), from);
}
QSIM_VECTOR inline void store_some(float* to, Floats x, std::size_t lanes) {
  _mm512_mask_storeu_ps(to, first_lanes(lanes), x);
}
QSIM_VECTOR inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
QSIM_VECTOR inline Floats multiply_add(Floats a, Floats b, Floats c) {
  return _mm512_fmadd_ps(a, b, c);
}
QSIM_VECTOR inline Floats canonical_lanes(Floats x) {
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), every(float_of(kFp32Nan)));
}

}  // namespace
}  // namespace qsim::golden

#include "golden/graph/real/product_kernels_body.h"

namespace qsim::golden {
const ProductKernels kAvx512Products = kProducts;
}  // namespace qsim::golden
#endif
