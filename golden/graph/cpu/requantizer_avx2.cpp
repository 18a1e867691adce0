// core/numerics/requantizer.h with AVX2. Levels are clamped before they are rounded, which is the
// same, since the ends are integers; so every conversion to an integer is of a small number.
// TensorFlow Lite's roundings are integer arithmetic, in 64 bits of the even lanes, then of the odd
// ones.
#include "golden/graph/cpu/kernels_256.h"

#if defined(__x86_64__)
namespace qsim::golden {
namespace {

constexpr int kDoubles = 4;

// The ends of the levels before zero_point; of half_up, of twice the levels.
struct ExactEnds {
  __m256d lo;
  __m256d hi;
};

template <RequantizerRounding rounding>
QSIM_AVX2 inline ExactEnds exact_ends(const OutputRange& range) {
  constexpr int kTimes = rounding == RequantizerRounding::kHalfUp ? 2 : 1;
  return {_mm256_set1_pd(kTimes * (range.lo - range.zero_point)),
          _mm256_set1_pd(kTimes * (range.hi - range.zero_point))};
}

template <RequantizerRounding rounding>
QSIM_AVX2 inline __m128i exact_levels(__m128i t, const double* scale, const ExactEnds& ends) {
  const __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(t), _mm256_load_pd(scale));
  const __m256d clamped = _mm256_min_pd(_mm256_max_pd(product, ends.lo), ends.hi);
  if constexpr (rounding == RequantizerRounding::kHalfEven) return _mm256_cvtpd_epi32(clamped);
  const __m128i floor = _mm256_cvttpd_epi32(_mm256_floor_pd(clamped));
  if constexpr (rounding == RequantizerRounding::kFloor) return floor;
  // floor(x + 1/2) = floor((floor(2 x) + 1) / 2)
  return _mm_srai_epi32(_mm_add_epi32(floor, _mm_set1_epi32(1)), 1);
}

// The odd lanes in the place of the even ones, which are what 64-bit products take.
QSIM_AVX2 inline __m256i odd_lanes(__m256i x) { return _mm256_srli_epi64(x, 32); }

// Even lanes from the low halves of `even`, odd ones from those of `odd`.
QSIM_AVX2 inline __m256i merged_lanes(__m256i even, __m256i odd) {
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

// a * b / 2^31 to nearest, ties up, in the low half of each 64 bits; of the even lanes.
QSIM_AVX2 inline __m256i high_products(__m256i a, __m256i b) {
  const __m256i half = _mm256_set1_epi64x(std::int64_t{1} << (kTfliteBits - 1));
  return _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epi32(a, b), half), kTfliteBits);
}

// tflite_product() of core/numerics/tflite_rounding.h.
QSIM_AVX2 inline __m256i rounded_twice(__m256i t, __m256i multiplier, __m256i shift) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i bits = _mm256_set1_epi32(kTfliteBits);
  const __m256i left = _mm256_max_epi32(_mm256_sub_epi32(bits, shift), zero);
  const __m256i right = _mm256_max_epi32(_mm256_sub_epi32(shift, bits), zero);
  const __m256i shifted = _mm256_sllv_epi32(t, left);
  const __m256i is_exact = _mm256_cmpeq_epi32(_mm256_srav_epi32(shifted, left), t);
  const __m256i end = _mm256_xor_si256(_mm256_srai_epi32(t, 31), _mm256_set1_epi32(INT32_MAX));
  const __m256i a = _mm256_blendv_epi8(end, shifted, is_exact);
  const __m256i product = merged_lanes(high_products(a, multiplier),
                                       high_products(odd_lanes(a), odd_lanes(multiplier)));
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, right), one);
  const __m256i threshold =
      _mm256_add_epi32(_mm256_srli_epi32(mask, 1), _mm256_srli_epi32(product, 31));
  const __m256i is_up = _mm256_cmpgt_epi32(_mm256_and_si256(product, mask), threshold);
  return _mm256_sub_epi32(_mm256_srav_epi32(product, right), is_up);
}

QSIM_AVX2 inline __m256i least_of(__m256i a, __m256i b) {
  return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

// tflite_product_once() of the even lanes, limited to lo..hi; 64 bits each. AVX2 shifts only zeros
// in: the sum is moved up by 2^63, which is 2^63 / 2^shift of the result.
QSIM_AVX2 inline __m256i rounded_once(__m256i t, __m256i multiplier, __m256i shift, __m256i lo,
                                      __m256i hi) {
  const __m256i count = _mm256_and_si256(shift, _mm256_set1_epi64x(0xFF));
  const __m256i one = _mm256_set1_epi64x(1);
  const __m256i half = _mm256_sllv_epi64(one, _mm256_sub_epi64(count, one));
  const __m256i sum = _mm256_add_epi64(_mm256_mul_epi32(t, multiplier), half);
  const __m256i top = _mm256_set1_epi64x(INT64_MIN);
  const __m256i moved = _mm256_srlv_epi64(_mm256_xor_si256(sum, top), count);
  const __m256i level = _mm256_sub_epi64(moved, _mm256_srlv_epi64(top, count));
  const __m256i raised = _mm256_blendv_epi8(level, lo, _mm256_cmpgt_epi64(lo, level));
  return least_of(raised, hi);
}

// Eight levels of TensorFlow Lite's, within the range but for the zero_point.
template <RequantizerRounding rounding>
QSIM_AVX2 inline __m256i tflite_levels(__m256i t, const RequantizerPanel& panel,
                                       const OutputRange& range, int first) {
  const __m256i multiplier = load256(panel.tflite_multiplier + first);
  const __m256i shift = load256(panel.tflite_shift + first);
  const int lo = range.lo - range.zero_point;
  const int hi = range.hi - range.zero_point;
  if constexpr (rounding == RequantizerRounding::kTflite) {
    const __m256i levels = rounded_twice(t, multiplier, shift);
    return _mm256_min_epi32(_mm256_max_epi32(levels, _mm256_set1_epi32(lo)), _mm256_set1_epi32(hi));
  } else {
    const __m256i least = _mm256_set1_epi64x(lo);
    const __m256i most = _mm256_set1_epi64x(hi);
    return merged_lanes(
        rounded_once(t, multiplier, shift, least, most),
        rounded_once(odd_lanes(t), odd_lanes(multiplier), odd_lanes(shift), least, most));
  }
}

// Eight levels, as bytes in words of 32 bits.
template <RequantizerRounding rounding>
QSIM_AVX2 inline __m256i levels_of(const std::int32_t* acc, const RequantizerPanel& panel,
                                   const OutputRange& range, int first) {
  const __m256i t = load256(acc + first);
  __m256i levels;
  if constexpr (rounding == RequantizerRounding::kFloat32) {
    const __m256 product =
        _mm256_mul_ps(_mm256_cvtepi32_ps(t), _mm256_load_ps(panel.float32_scale + first));
    const __m256 lo = _mm256_set1_ps(static_cast<float>(range.lo - range.zero_point));
    const __m256 hi = _mm256_set1_ps(static_cast<float>(range.hi - range.zero_point));
    levels = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(product, lo), hi));
  } else if constexpr (is_tflite(rounding)) {
    levels = tflite_levels<rounding>(t, panel, range, first);
  } else {
    const ExactEnds ends = exact_ends<rounding>(range);
    const double* scale = panel.exact_scale + first;
    levels = _mm256_set_m128i(
        exact_levels<rounding>(_mm256_extracti128_si256(t, 1), scale + kDoubles, ends),
        exact_levels<rounding>(_mm256_castsi256_si128(t), scale, ends));
  }
  const __m256i q = _mm256_add_epi32(levels, _mm256_set1_epi32(range.zero_point));
  return _mm256_and_si256(q, _mm256_set1_epi32(0xFF));
}

template <RequantizerRounding rounding>
QSIM_AVX2 void requantize_rows(const std::int32_t* acc, int row_count,
                               const RequantizerPanel& panel, const OutputRange& range,
                               int channels, std::uint8_t* out, std::size_t out_stride) {
  for (int r = 0; r < row_count; ++r) {
    const __m256i levels[4] = {levels_of<rounding>(acc, panel, range, 0),
                               levels_of<rounding>(acc, panel, range, kLanes256),
                               levels_of<rounding>(acc, panel, range, 2 * kLanes256),
                               levels_of<rounding>(acc, panel, range, 3 * kLanes256)};
    store_levels(levels, channels, out);
    acc += kPanelChannels;
    out += out_stride;
  }
}

}  // namespace

void requantize_scaled_tile_256(const std::int32_t* acc, int row_count,
                                const RequantizerPanel& panel, const OutputRange& range,
                                int channels, std::uint8_t* out, std::size_t out_stride) {
  visit_rounding(panel.rounding, [&](auto rounding) {
    requantize_rows<rounding.value>(acc, row_count, panel, range, channels, out, out_stride);
  });
}

}  // namespace qsim::golden
#endif
