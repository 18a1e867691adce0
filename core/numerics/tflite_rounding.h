// TensorFlow Lite's requantization: a 31-bit multiplier and a power of two. It has two roundings:
// gemmlowp's, which rounds twice, and that of builds with TFLITE_SINGLE_ROUNDING. Both are for
// golden alone: the accelerator does not have them. core/numerics/requantizer.h makes them
// roundings of a Requantizer; docs/reference/numerics.md has the formulas.
#pragma once

#include <bit>
#include <cstdint>

#include "core/numerics/requantize.h"

namespace qsim {

inline constexpr int kTfliteBits = 31;
inline constexpr int kLeastTfliteExponent = -31;
inline constexpr int kMostTfliteExponent = 31;

// The scale multiplier / 2^31 * 2^exponent, with 2^30 <= multiplier < 2^31 or multiplier 0, and
// kLeastTfliteExponent <= exponent <= kMostTfliteExponent.
struct TfliteMultiplier {
  std::int32_t multiplier = 0;
  int exponent = 0;

  friend bool operator==(const TfliteMultiplier&, const TfliteMultiplier&) = default;
};

// A normal double of at least 0 as TensorFlow Lite's QuantizeMultiplier splits it
// (kernels/internal/quantization_util.cc): the fraction, 1/2 to 1, times 2^31, to nearest, ties
// up. A scale that this leaves below 2^-32 becomes 0. One that it leaves at 2^most_exponent or
// above becomes the largest multiplier with `most_exponent`: TensorFlow Lite does so with 30 where
// it rounds once, and leaves it undefined where it rounds twice.
constexpr TfliteMultiplier tflite_multiplier_of(double scale,
                                                int most_exponent = kMostTfliteExponent) {
  constexpr int kFractionBits = 52;
  constexpr int kBiasOfHalf = 1022;
  const auto bits = std::bit_cast<std::uint64_t>(scale);
  int exponent = static_cast<int>(bits >> kFractionBits) - kBiasOfHalf;
  constexpr std::uint64_t kImplicitBit = std::uint64_t{1} << kFractionBits;
  const std::uint64_t fraction = (bits & (kImplicitBit - 1)) | kImplicitBit;
  constexpr int kDropped = kFractionBits + 1 - kTfliteBits;
  std::uint64_t fixed = (fraction + (std::uint64_t{1} << (kDropped - 1))) >> kDropped;
  if (fixed >> kTfliteBits != 0) {
    fixed /= 2;
    ++exponent;
  }
  if (exponent < kLeastTfliteExponent) return {};
  if (exponent > most_exponent) return {INT32_MAX, most_exponent};
  return {static_cast<std::int32_t>(fixed), exponent};
}

QSIM_HOST_DEVICE constexpr std::int32_t saturate_to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(value < INT32_MIN ? INT32_MIN
                                                     : (value > INT32_MAX ? INT32_MAX : value));
}

// gemmlowp's SaturatingRoundingDoublingHighMul (fixedpoint/fixedpoint.h): a * b / 2^31 to nearest.
// It adds 2^30, or 1 - 2^30 to a negative product, and divides toward zero; either way a tie goes
// up.
QSIM_HOST_DEVICE constexpr std::int32_t doubling_high_multiply(std::int32_t a, std::int32_t b) {
  return saturate_to_int32(
      rounding_shift(static_cast<std::int64_t>(a) * b, kTfliteBits, RoundingMode::kHalfUp));
}

// TensorFlow Lite's MultiplyByQuantizedMultiplier (kernels/internal/common.cc): t shifted left by a
// positive exponent, doubling_high_multiply, then gemmlowp's RoundingDivideByPOT by a negative one:
// to nearest, ties away from zero. Where the left shift leaves int32, TensorFlow Lite's result is
// undefined; here it saturates.
QSIM_HOST_DEVICE constexpr std::int32_t tflite_product(std::int32_t t,
                                                       const TfliteMultiplier& scale) {
  const int left = scale.exponent > 0 ? scale.exponent : 0;
  const std::int32_t shifted = saturate_to_int32(static_cast<std::int64_t>(t) << left);
  const std::int64_t product = doubling_high_multiply(shifted, scale.multiplier);
  return static_cast<std::int32_t>(
      rounding_shift(product, left - scale.exponent, RoundingMode::kHalfAway));
}

// The same function in builds with TFLITE_SINGLE_ROUNDING, exponent <= 30: the exact product to
// nearest, ties up. |t * multiplier| <= 2^62 and the addend is at most 2^61. A result beyond int32,
// which TensorFlow Lite refuses, is as it is: 62 bits and the sign.
QSIM_HOST_DEVICE constexpr std::int64_t tflite_product_once(std::int32_t t,
                                                            const TfliteMultiplier& scale) {
  return rounding_shift(static_cast<std::int64_t>(t) * scale.multiplier,
                        kTfliteBits - scale.exponent, RoundingMode::kHalfUp);
}

}  // namespace qsim
