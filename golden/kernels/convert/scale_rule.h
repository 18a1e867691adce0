// The scale of a group by the extent of its elements, for host and device.
#pragma once

#include "golden/kernels/convert/group_arithmetic.h"

namespace qsim::golden {

// The largest finite magnitudes of a group as 16-bit codes of the source, which are in the order of
// the numbers: of its numbers from 0 on, and of its negative ones. Where only the larger of the two
// counts, `positive` has it.
struct Extent {
  std::uint16_t positive = 0;
  std::uint16_t negative = 0;
};

// The first code of a source that is not finite, without its sign.
QSIM_HOST_DEVICE constexpr std::uint16_t infinity_code(ElementFormat source) {
  return source == ElementFormat::kHalf ? 0x7C00 : 0x7F80;
}

QSIM_HOST_DEVICE inline float half_number(ElementFormat source, std::uint16_t code) {
#if defined(__CUDA_ARCH__)
  float number = float_from_bfloat16(code);
  if (source == ElementFormat::kHalf) asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(code));
  return number == number ? number : float_of(kFp32Nan);
#else
  return source == ElementFormat::kHalf ? float_from_half(code) : float_from_bfloat16(code);
#endif
}

inline constexpr std::int64_t kWhole = 1'000'000;  // all elements, in parts per million

// The nearest rank of a percentile among `count` > 0 numbers, from 1: the product rounded up.
QSIM_HOST_DEVICE constexpr std::int64_t percentile_rank(std::int64_t count,
                                                        std::int64_t parts_per_million) {
  const std::int64_t rest = count % kWhole * parts_per_million;
  return count / kWhole * parts_per_million + (rest + kWhole - 1) / kWhole;
}

// x / scale, rounded to nearest, by the reciprocal of the scale (rounded to nearest): for x of at
// most 11 significant bits, as FP16 and BF16 have, this is exact with every scale of 24
// (tests/golden/convert/reciprocal_test.cpp tries them all), where no intermediate number is
// subnormal or overflows. BF16 numbers need a scale of at least kLeastDivisor: smaller ones make
// remainders that are subnormal. Greater scales make them only of quotients below 2^-38, which
// every format rounds to a zero of their sign. A zero keeps its sign.
inline constexpr float kLeastDivisor = 0x1p-64F;
QSIM_HOST_DEVICE inline float quotient_by_reciprocal(float x, float scale, float reciprocal) {
#if defined(__CUDA_ARCH__)
  const float q = __fmul_rn(x, reciprocal);
  return __fmaf_rn(__fmaf_rn(q, scale, -x), -reciprocal, q);
#else
  const float q = x * reciprocal;
  return __builtin_fmaf(__builtin_fmaf(q, scale, -x), -reciprocal, q);
#endif
}

// 1 / scale as a sum: `high` is its FP32 number rounded down, and `low` >= 0 what that lacks,
// rounded.
struct SplitReciprocal {
  float high;
  float low;
};
QSIM_HOST_DEVICE inline SplitReciprocal split_reciprocal(float scale) {
#if defined(__CUDA_ARCH__)
  const float nearest = __frcp_rn(scale);
  const auto rest = [&](float part) { return __fmaf_rn(-part, scale, 1.0F); };
#else
  const float nearest = 1 / scale;
  const auto rest = [&](float part) { return __builtin_fmaf(-part, scale, 1.0F); };
#endif
  const float high = rest(nearest) < 0 ? float_of(bits_of(nearest) - 1) : nearest;
  return {high, product(rest(high), nearest)};
}

// x / scale for the rounding to a format: it is on the same side of each number of 9 significant
// bits as rn32(x / scale) is, or equal to that number if rn32(x / scale) is. All numbers between
// two codes of INT8, FP8, INT4 and FP4 are such, so both have the same code. x and `scale` are as
// quotient_by_reciprocal() wants them, but `scale` may be as small as 2^-126, and is at most
// kMostSplitDivisor: `low` would be subnormal (tests/golden/convert/reciprocal_test.cpp). A zero
// keeps its sign.
inline constexpr float kMostSplitDivisor = 0x1p64F;
QSIM_HOST_DEVICE inline float quotient_by_parts(float x, SplitReciprocal reciprocal) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(x, reciprocal.high, __fmul_rn(x, reciprocal.low));
#else
  return __builtin_fmaf(x, reciprocal.high, x * reciprocal.low);
#endif
}

struct GroupScale {
  float scale = 1;
  std::int32_t zero_point = 0;
  std::uint8_t code = 0;  // of UE8M0 and E4M3
};

// The scales of one quantization. With E4M3 scales, set_global comes first.
struct ScaleRule {
  ElementFormat source;
  ElementFormat format;
  ScaleFormat scales;
  PowerRounding rounding;  // of UE8M0
  bool zero_point;
  float clip_value;
  float global = 1;

  // The largest extent of all groups, each after its percentile.
  QSIM_HOST_DEVICE void set_global(Extent extent) { global = global_scale(amax(extent), format); }

  QSIM_HOST_DEVICE GroupScale of(Extent extent) const {
    if (zero_point) {
      const float lo = -clipped(extent.negative);
      const AffineScale affine = affine_scale(lo, clipped(extent.positive), format);
      return {affine.scale, affine.zero_point, 0};
    }
    const float largest = amax(extent);
    if (scales == ScaleFormat::kFp32) return {fp32_scale(largest, format), 0, 0};
    if (scales == ScaleFormat::kUe8m0) {
      const std::uint32_t code = ue8m0_scale(largest, format, rounding);
      return {float_of(ue8m0_decode(code)), 0, static_cast<std::uint8_t>(code)};
    }
    const std::uint32_t code = e4m3_scale(largest, format, global);
    return {e4m3_scale_number(code, global), 0, static_cast<std::uint8_t>(code)};
  }

  QSIM_HOST_DEVICE float amax(Extent extent) const {
    return clipped(extent.positive > extent.negative ? extent.positive : extent.negative);
  }

 private:
  QSIM_HOST_DEVICE float clipped(std::uint16_t code) const {
    const float number = half_number(source, code);
    return number < clip_value ? number : clip_value;
  }
};

}  // namespace qsim::golden
