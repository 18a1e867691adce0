// core/numerics/requantizer.h with AVX-512, whose instructions say themselves how they round.
// Levels are clamped before they are rounded, which is the same, since the ends are integers; so
// every conversion to an integer is of a small number. TensorFlow Lite's roundings are integer
// arithmetic, in 64 bits of the even lanes, then of the odd ones.
#include "golden/graph/cpu/kernels_512.h"

#if defined(__x86_64__)
namespace qsim::golden {
namespace {

constexpr int kDoubles = 8;
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

template <RequantizerRounding rounding>
QSIM_AVX512 inline __m256i exact_levels(__m256i t, const double* scale, const OutputRange& range) {
  constexpr int kTimes = rounding == RequantizerRounding::kHalfUp ? 2 : 1;
  const __m512d lo = _mm512_set1_pd(kTimes * (range.lo - range.zero_point));
  const __m512d hi = _mm512_set1_pd(kTimes * (range.hi - range.zero_point));
  const __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(t), _mm512_load_pd(scale));
  const __m512d clamped = _mm512_min_pd(_mm512_max_pd(product, lo), hi);
  if constexpr (rounding == RequantizerRounding::kHalfEven) {
    return _mm512_cvt_roundpd_epi32(clamped, kNearest);
  }
  const __m256i floor = _mm512_cvt_roundpd_epi32(clamped, kDown);
  if constexpr (rounding == RequantizerRounding::kFloor) return floor;
  // floor(x + 1/2) = floor((floor(2 x) + 1) / 2)
  return _mm256_srai_epi32(_mm256_add_epi32(floor, _mm256_set1_epi32(1)), 1);
}

// The odd lanes in the place of the even ones, which are what 64-bit products take.
QSIM_AVX512 inline __m512i odd_lanes(__m512i x) { return _mm512_srli_epi64(x, 32); }

// Even lanes from the low halves of `even`, odd ones from those of `odd`.
QSIM_AVX512 inline __m512i merged_lanes(__m512i even, __m512i odd) {
  return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

// tflite_product() of core/numerics/tflite_rounding.h.
QSIM_AVX512 inline __m512i rounded_twice(__m512i t, __m512i multiplier, __m512i shift) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i bits = _mm512_set1_epi32(kTfliteBits);
  const __m512i left = _mm512_max_epi32(_mm512_sub_epi32(bits, shift), zero);
  const __m512i right = _mm512_max_epi32(_mm512_sub_epi32(shift, bits), zero);
  const __m512i shifted = _mm512_sllv_epi32(t, left);
  const __mmask16 is_exact = _mm512_cmpeq_epi32_mask(_mm512_srav_epi32(shifted, left), t);
  const __m512i end = _mm512_xor_si512(_mm512_srai_epi32(t, 31), _mm512_set1_epi32(INT32_MAX));
  const __m512i a = _mm512_mask_blend_epi32(is_exact, end, shifted);
  const __m512i half = _mm512_set1_epi64(std::int64_t{1} << (kTfliteBits - 1));
  const auto high = [&](__m512i x, __m512i y) QSIM_AVX512 {
    return _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epi32(x, y), half), kTfliteBits);
  };
  const __m512i product =
      merged_lanes(high(a, multiplier), high(odd_lanes(a), odd_lanes(multiplier)));
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i mask = _mm512_sub_epi32(_mm512_sllv_epi32(one, right), one);
  const __m512i threshold =
      _mm512_add_epi32(_mm512_srli_epi32(mask, 1), _mm512_srli_epi32(product, 31));
  const __mmask16 is_up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(product, mask), threshold);
  const __m512i below = _mm512_srav_epi32(product, right);
  return _mm512_mask_add_epi32(below, is_up, below, one);
}

// tflite_product_once() of the even lanes, limited to lo..hi; 64 bits each.
QSIM_AVX512 inline __m512i rounded_once(__m512i t, __m512i multiplier, __m512i shift, __m512i lo,
                                        __m512i hi) {
  const __m512i count = _mm512_and_si512(shift, _mm512_set1_epi64(0xFF));
  const __m512i one = _mm512_set1_epi64(1);
  const __m512i half = _mm512_sllv_epi64(one, _mm512_sub_epi64(count, one));
  const __m512i sum = _mm512_add_epi64(_mm512_mul_epi32(t, multiplier), half);
  return _mm512_min_epi64(_mm512_max_epi64(_mm512_srav_epi64(sum, count), lo), hi);
}

// 16 levels of TensorFlow Lite's, within the range but for the zero_point.
template <RequantizerRounding rounding>
QSIM_AVX512 inline __m512i tflite_levels(__m512i t, const RequantizerPanel& panel,
                                         const OutputRange& range, int first) {
  const __m512i multiplier = _mm512_load_si512(panel.tflite_multiplier + first);
  const __m512i shift = _mm512_load_si512(panel.tflite_shift + first);
  const int lo = range.lo - range.zero_point;
  const int hi = range.hi - range.zero_point;
  if constexpr (rounding == RequantizerRounding::kTflite) {
    const __m512i levels = rounded_twice(t, multiplier, shift);
    return _mm512_min_epi32(_mm512_max_epi32(levels, _mm512_set1_epi32(lo)), _mm512_set1_epi32(hi));
  } else {
    const __m512i least = _mm512_set1_epi64(lo);
    const __m512i most = _mm512_set1_epi64(hi);
    return merged_lanes(
        rounded_once(t, multiplier, shift, least, most),
        rounded_once(odd_lanes(t), odd_lanes(multiplier), odd_lanes(shift), least, most));
  }
}

template <RequantizerRounding rounding>
QSIM_AVX512 inline __m128i levels_of(const std::int32_t* acc, const RequantizerPanel& panel,
                                     const OutputRange& range, int first) {
  const __m512i t = _mm512_load_si512(acc + first);
  __m512i levels;
  if constexpr (rounding == RequantizerRounding::kFloat32) {
    const __m512 product =
        _mm512_mul_round_ps(_mm512_cvt_roundepi32_ps(t, kNearest),
                            _mm512_load_ps(panel.float32_scale + first), kNearest);
    const __m512 lo = _mm512_set1_ps(static_cast<float>(range.lo - range.zero_point));
    const __m512 hi = _mm512_set1_ps(static_cast<float>(range.hi - range.zero_point));
    levels = _mm512_cvt_roundps_epi32(_mm512_min_ps(_mm512_max_ps(product, lo), hi), kNearest);
  } else if constexpr (is_tflite(rounding)) {
    levels = tflite_levels<rounding>(t, panel, range, first);
  } else {
    const double* scale = panel.exact_scale + first;
    const __m256i low = exact_levels<rounding>(_mm512_castsi512_si256(t), scale, range);
    const __m256i high =
        exact_levels<rounding>(_mm512_extracti64x4_epi64(t, 1), scale + kDoubles, range);
    levels = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  return _mm512_cvtepi32_epi8(_mm512_add_epi32(levels, _mm512_set1_epi32(range.zero_point)));
}

template <RequantizerRounding rounding>
QSIM_AVX512 void requantize_rows(const std::int32_t* acc, int row_count,
                                 const RequantizerPanel& panel, const OutputRange& range,
                                 int channels, std::uint8_t* out, std::size_t out_stride) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << channels) - 1);
  for (int r = 0; r < row_count; ++r) {
    const __m128i low = levels_of<rounding>(acc, panel, range, 0);
    const __m128i high =
        channels > kLanes512 ? levels_of<rounding>(acc, panel, range, kLanes512) : low;
    _mm256_mask_storeu_epi8(out, mask, _mm256_set_m128i(high, low));
    acc += kPanelChannels;
    out += out_stride;
  }
}

}  // namespace

void requantize_scaled_tile_512(const std::int32_t* acc, int row_count,
                                const RequantizerPanel& panel, const OutputRange& range,
                                int channels, std::uint8_t* out, std::size_t out_stride) {
  visit_rounding(panel.rounding, [&](auto rounding) {
    requantize_rows<rounding.value>(acc, row_count, panel, range, channels, out, out_stride);
  });
}

}  // namespace qsim::golden
#endif
