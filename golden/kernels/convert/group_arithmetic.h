// The arithmetic of group conversions, for host and device: the scale of a group, the code of an
// element, the number of a code. Each operation on floats is one FP32 operation, rounded to
// nearest; the caller keeps subnormals (golden/common/float_environment.h).
// docs/reference/kernels.md states the definition in words.
#pragma once

#include "golden/common/float_formats.h"

namespace qsim::golden {

// What an element is stored as. FP16 and BF16 are sources of a quantization, the others its
// targets.
enum class ElementFormat : std::uint8_t {
  kHalf,
  kBfloat16,
  kInt8,
  kE4m3,
  kE5m2,
  kInt4,  // two a byte, the first in the low nibble
  kE2m1   // as kInt4
};

enum class ScaleFormat : std::uint8_t { kFp32, kUe8m0, kE4m3 };

QSIM_HOST_DEVICE inline float quotient(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
QSIM_HOST_DEVICE inline float product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
QSIM_HOST_DEVICE inline float sum(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

// The magnitude that a group's largest element is scaled to: the format's largest number; 127 and
// 7 for the integers, so that both signs have as many codes.
QSIM_HOST_DEVICE constexpr float largest_number(ElementFormat format) {
  switch (format) {
    case ElementFormat::kInt8:
      return 127;
    case ElementFormat::kInt4:
      return 7;
    case ElementFormat::kE4m3:
      return 448;
    case ElementFormat::kE5m2:
      return 57344;
    default:
      return 6;
  }
}

// floor(log2(largest_number))
QSIM_HOST_DEVICE constexpr int largest_exponent(ElementFormat format) {
  return static_cast<int>(bits_of(largest_number(format)) >> 23) - 127;
}

inline constexpr std::uint32_t kLeastScale = 0x00800000;        // 2^-126: divisors are normal
inline constexpr std::uint32_t kLeastGlobalScale = 0x05000000;  // 2^-117: times 2^-9 it is 2^-126
inline constexpr std::uint32_t kLeastPower = 0x00400000;        // 2^-127

QSIM_HOST_DEVICE constexpr float at_least(float value, std::uint32_t least) {
  return value < float_of(least) ? float_of(least) : value;
}

// The scale of a group whose largest finite magnitude is `amax`; 1 for amax = 0.
QSIM_HOST_DEVICE inline float fp32_scale(float amax, ElementFormat format) {
  if (amax == 0) return 1;
  return at_least(quotient(amax, largest_number(format)), kLeastScale);
}

// The UE8M0 code of a group's scale. kFloor is OCP's: floor(log2(amax)) minus the exponent of the
// largest number, so that the largest element may saturate. The others round amax / largest number.
QSIM_HOST_DEVICE inline std::uint32_t ue8m0_scale(float amax, ElementFormat format,
                                                  PowerRounding rounding) {
  if (amax == 0) return 127;
  if (rounding == PowerRounding::kFloor) {
    const auto exponent = static_cast<int>(ue8m0_encode(bits_of(amax), rounding));
    const int code = exponent - largest_exponent(format);
    return code < 0 ? 0 : static_cast<std::uint32_t>(code);
  }
  const float scale = at_least(quotient(amax, largest_number(format)), kLeastPower);
  return ue8m0_encode(bits_of(scale), rounding);
}

// NVFP4's two levels: the FP32 scale of a tensor by the largest amax of its groups, and the E4M3
// code of a group's part of the scale, at least the smallest subnormal. 1 for amax = 0.
QSIM_HOST_DEVICE inline float global_scale(float amax, ElementFormat format) {
  if (amax == 0) return 1;
  return at_least(quotient(amax, 448 * largest_number(format)), kLeastGlobalScale);
}
QSIM_HOST_DEVICE inline std::uint32_t e4m3_scale(float amax, ElementFormat format, float global) {
  if (amax == 0) return 0x38;
  const float part = quotient(quotient(amax, largest_number(format)), global);
  const std::uint32_t code = encode<kFp8E4m3>(bits_of(part));
  return code == 0 ? 1 : code;
}
QSIM_HOST_DEVICE inline float e4m3_scale_number(std::uint32_t code, float global) {
  return product(float_of(decode<kFp8E4m3>(code)), global);
}

// The integers of a target: -127..127 and -7..7, with a zero_point all of the type.
struct IntegerRange {
  std::int32_t lo;
  std::int32_t hi;
};
QSIM_HOST_DEVICE constexpr IntegerRange integer_range(ElementFormat format, bool zero_point) {
  const std::int32_t hi = format == ElementFormat::kInt8 ? 127 : 7;
  return {zero_point ? -hi - 1 : -hi, hi};
}

// The nearest integer, by `round` (float_formats.h); 0 of NaN, +-1024 of larger magnitudes.
template <typename Round>
QSIM_HOST_DEVICE constexpr std::int32_t rounded_integer(float value, Round round) {
  const std::uint32_t bits = bits_of(value);
  std::uint32_t magnitude = bits & kFp32Magnitude;
  if (magnitude > kFp32Infinity) return 0;
  if (magnitude > 0x44800000) magnitude = 0x44800000;
  const bool is_normal = magnitude >= 0x800000;
  const std::uint32_t significand = (magnitude & 0x7FFFFF) | (is_normal ? 0x800000 : 0);
  const int shift = 150 - (is_normal ? static_cast<int>(magnitude >> 23) : 1);
  const auto kept = static_cast<std::int32_t>(round(significand, shift));
  return bits >> 31 != 0 ? -kept : kept;
}

// Scale and zero_point of a group whose finite elements and 0 span lo..hi: (hi - lo) / (levels - 1)
// as the difference of two quotients, which does not overflow; zero_point is the code of 0.
struct AffineScale {
  float scale;
  std::int32_t zero_point;
};
QSIM_HOST_DEVICE inline AffineScale affine_scale(float lo, float hi, ElementFormat format) {
  const IntegerRange range = integer_range(format, true);
  if (lo == 0 && hi == 0) return {1, 0};
  const auto steps = static_cast<float>(range.hi - range.lo);
  const float scale = at_least(sum(quotient(hi, steps), -quotient(lo, steps)), kLeastScale);
  const std::int32_t zero_point = range.lo - rounded_integer(quotient(lo, scale), HalfEven());
  return {scale, clamp_to(zero_point, range.lo, range.hi)};
}

// The code of x in `format`: cvt(rn32(x / scale)), saturating; integers plus zero_point. NaN is the
// format's NaN, +6 in FP4, and the code of 0 in integers.
template <ElementFormat format, typename Round>
QSIM_HOST_DEVICE constexpr std::uint32_t quantized(float x, float scale, std::int32_t zero_point,
                                                   IntegerRange range, Round round) {
  const float scaled = quotient(x, scale);
  if constexpr (format == ElementFormat::kE4m3) {
    return encode<kFp8E4m3>(bits_of(scaled), round);
  } else if constexpr (format == ElementFormat::kE5m2) {
    return encode<kFp8E5m2>(bits_of(scaled), round);
  } else if constexpr (format == ElementFormat::kE2m1) {
    return encode<kFp4E2m1>(bits_of(scaled), round);
  } else {
    const std::int32_t level = rounded_integer(scaled, round) + zero_point;
    return static_cast<std::uint32_t>(clamp_to(level, range.lo, range.hi)) &
           (format == ElementFormat::kInt8 ? 0xFF : 0xF);
  }
}

// The number of a code, before the scale: exact in FP32. For integers it is code minus zero_point.
template <ElementFormat format>
QSIM_HOST_DEVICE constexpr float number_of(std::uint32_t code, std::int32_t zero_point) {
  if constexpr (format == ElementFormat::kE4m3) {
    return float_of(decode<kFp8E4m3>(code));
  } else if constexpr (format == ElementFormat::kE5m2) {
    return float_of(decode<kFp8E5m2>(code));
  } else if constexpr (format == ElementFormat::kE2m1) {
    return float_of(decode<kFp4E2m1>(code));
  } else if constexpr (format == ElementFormat::kInt8) {
    return static_cast<float>(static_cast<std::int8_t>(code) - zero_point);
  } else {
    return static_cast<float>(int4_unpack(static_cast<std::uint8_t>(code), 0) - zero_point);
  }
}

}  // namespace qsim::golden
