// Each arithmetic step of the weight-only linear layer, once, for host and device:
// docs/reference/kernels.md has the definition and derives the bounds. Floats are in the
// mode of golden/common/float_environment.h, and nothing is contracted.
#pragma once

#include <cstdint>

#include "golden/common/float_formats.h"

namespace qsim::golden {

enum class FloatType : std::uint8_t { kFloat32, kFloat16, kBfloat16 };

inline constexpr int kMostDigits = 6;
// The sum of this many products of a digit (-128..127) and a weight (-127..127) fits 32 bits:
// 132,104 * 128 * 127 = 2,147,482,624.
inline constexpr std::int64_t kMostInFeatures = 132104;

// 2^exponent for -149 <= exponent <= 127.
QSIM_HOST_DEVICE constexpr float power_of_two(int exponent) {
  return float_of(exponent >= -126 ? static_cast<std::uint32_t>(exponent + 127) << 23
                                   : std::uint32_t{1} << (exponent + 149));
}

// The exponent of a row's fixed-point step. Of FP16, all of whose numbers are multiples of 2^-24,
// it is -24. Else it is the least one, at least -149, with which the row's largest number has five
// digits. `largest` is the largest finite magnitude of the row as FP32 bits, 0 if there is none.
QSIM_HOST_DEVICE constexpr int step_exponent(FloatType type, std::uint32_t largest) {
  if (type == FloatType::kFloat16) return -24;
  const int field = static_cast<int>(largest >> 23);
  // A significand of 24 bits times 2^15 has five digits if it is at most 0xFEFEFE.
  const bool carries = ((largest & 0x7FFFFF) | 0x800000) > 0xFEFEFE;
  const int exponent = field - 165 + (carries ? 1 : 0);
  return exponent < -149 ? -149 : exponent;
}

// A finite FP32 number in steps of 2^exponent, to nearest, ties to even. Below 2^40.
QSIM_HOST_DEVICE constexpr std::int64_t fixed_point(std::uint32_t bits, int exponent) {
  const std::uint32_t magnitude = bits & kFp32Magnitude;
  const bool is_normal = magnitude >= 0x800000;
  const std::uint32_t significand = (magnitude & 0x7FFFFF) | (is_normal ? 0x800000 : 0);
  const int shift = (is_normal ? static_cast<int>(magnitude >> 23) : 1) - 150 - exponent;
  const std::int64_t fixed = shift >= 0
                                 ? static_cast<std::int64_t>(significand) << shift
                                 : static_cast<std::int64_t>(HalfEven()(significand, -shift));
  return (bits >> 31) != 0 ? -fixed : fixed;
}

// Takes the lowest digit, -128..127, off a fixed-point number: fixed = digit + 256 * the rest.
QSIM_HOST_DEVICE constexpr std::int32_t take_digit(std::int64_t& fixed) {
  const std::int32_t digit = static_cast<std::int8_t>(fixed & 0xFF);
  fixed = (fixed - digit) / 256;
  return digit;
}

// The exact sum of a group from its sums by digit, lowest first: high * 2^24 + low. Each part fits
// 48 bits; the sum may have 65.
struct WideSum {
  std::int64_t high;
  std::int64_t low;
};

QSIM_HOST_DEVICE constexpr WideSum combine(const std::int32_t (&sums)[kMostDigits]) {
  const auto part = [](std::int32_t a, std::int32_t b, std::int32_t c) {
    return static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b) * 256 +
           static_cast<std::int64_t>(c) * 65536;
  };
  return {part(sums[3], sums[4], sums[5]), part(sums[0], sums[1], sums[2])};
}

// The sum to the nearest FP32 number, ties to even: one rounding. Where the sum may not fit 64
// bits, `high` has at least 39 bits, so the 24 bits below it only tell whether something is left:
// the lowest bit of `high` says that, far below the rounding's own.
QSIM_HOST_DEVICE inline float rounded(WideSum sum) {
  constexpr std::int64_t kLowBits = 24;
  const std::int64_t high = sum.high + (sum.low >> kLowBits);
  const std::int64_t low = sum.low & ((std::int64_t{1} << kLowBits) - 1);
  constexpr std::int64_t kFits = std::int64_t{1} << 38;
  if (high >= -kFits && high < kFits) {
    return static_cast<float>(high * (std::int64_t{1} << kLowBits) + low);
  }
  return static_cast<float>(high | (low != 0 ? 1 : 0)) * 0x1p24F;
}

// The sum of the terms x * weight of a group whose x are not finite, as IEEE 754 adds them.
struct NonFiniteSum {
  bool nan = false;
  bool plus = false;
  bool minus = false;

  // x is not finite.
  QSIM_HOST_DEVICE constexpr void add(std::uint32_t bits, int weight) {
    const bool negative = ((bits >> 31) != 0) != (weight < 0);
    if ((bits & kFp32Magnitude) > kFp32Infinity || weight == 0) {
      nan = true;
    } else if (negative) {
      minus = true;
    } else {
      plus = true;
    }
  }
  QSIM_HOST_DEVICE constexpr bool any() const { return nan || plus || minus; }
  QSIM_HOST_DEVICE constexpr float value() const {
    if (nan || (plus && minus)) return float_of(kFp32Nan);
    return float_of(minus ? kFp32Infinity | 0x80000000 : kFp32Infinity);
  }
};

QSIM_HOST_DEVICE constexpr bool is_finite(std::uint32_t bits) {
  return (bits & kFp32Magnitude) < kFp32Infinity;
}

// The FP32 bits of a result; each NaN becomes the canonical one.
QSIM_HOST_DEVICE constexpr std::uint32_t canonical(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits & kFp32Magnitude) > kFp32Infinity ? kFp32Nan : bits;
}

}  // namespace qsim::golden
