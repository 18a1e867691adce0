// core/numerics/adder.h's rounding float32 with AVX-512: two fused multiply-adds, whose
// instructions say themselves how they round. Sums are clamped before they are rounded to integers,
// which is the same, since the ends are integers.
#include "golden/graph/cpu/kernels_512.h"

#if defined(__x86_64__)
namespace qsim::golden {
namespace {

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

struct Constants {
  __m512 a_ratio, b_ratio, fixed, lo, hi;
  __m128i a_flip, b_flip;
  __m512i a_below, b_below;
};

QSIM_AVX512 inline __m512 levels_of(__m128i bytes, __m128i flip, __m512i below) {
  const __m512i lanes = _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip));
  return _mm512_cvt_roundepi32_ps(_mm512_sub_epi32(lanes, below), kNearest);
}

QSIM_AVX512 inline __m128i sums_of(__m128i a, __m128i b, const Constants& k) {
  const __m512 b_part =
      _mm512_fmadd_round_ps(levels_of(b, k.b_flip, k.b_below), k.b_ratio, k.fixed, kNearest);
  const __m512 sum =
      _mm512_fmadd_round_ps(levels_of(a, k.a_flip, k.a_below), k.a_ratio, b_part, kNearest);
  const __m512 clamped = _mm512_min_ps(_mm512_max_ps(sum, k.lo), k.hi);
  return _mm512_cvtepi32_epi8(_mm512_cvt_roundps_epi32(clamped, kNearest));
}

}  // namespace

QSIM_AVX512 void add_float32_512(const AddOperands& operands, const std::uint8_t* a,
                                 const std::uint8_t* b, std::uint8_t* out, std::size_t count) {
  const Constants k{_mm512_set1_ps(operands.a_ratio),
                    _mm512_set1_ps(operands.b_ratio),
                    _mm512_set1_ps(operands.fixed),
                    _mm512_set1_ps(static_cast<float>(operands.lo)),
                    _mm512_set1_ps(static_cast<float>(operands.hi)),
                    _mm_set1_epi8(static_cast<char>(operands.a_flip)),
                    _mm_set1_epi8(static_cast<char>(operands.b_flip)),
                    _mm512_set1_epi32(operands.a_flip),
                    _mm512_set1_epi32(operands.b_flip)};
  std::size_t i = 0;
  for (; i + kLanes512 <= count; i += kLanes512) {
    const __m128i sums = sums_of(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i)),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i)), k);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), sums);
  }
  if (i == count) return;
  const auto mask = static_cast<__mmask16>((1U << (count - i)) - 1);
  const __m128i sums =
      sums_of(_mm_maskz_loadu_epi8(mask, a + i), _mm_maskz_loadu_epi8(mask, b + i), k);
  _mm_mask_storeu_epi8(out + i, mask, sums);
}

}  // namespace qsim::golden
#endif
