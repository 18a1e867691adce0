// TensorFlow Lite's requantization: a doubling high multiply by a 31-bit number, then a rounding
// right shift. It rounds twice. It is for golden alone: the accelerator does not have it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/requantize.h"

namespace qsim {

// The scale multiplier / 2^31 * 2^exponent, with 2^30 <= multiplier < 2^31 or multiplier 0, and
// -31 <= exponent <= 31.
struct TfliteMultiplier {
  std::int32_t multiplier = 0;
  int exponent = 0;

  friend bool operator==(const TfliteMultiplier&, const TfliteMultiplier&) = default;
};

// A scale in [0, 2^30), as TensorFlow Lite's QuantizeMultiplier splits it
// (kernels/internal/quantization_util.cc): round(fraction * 2^31), ties away from zero. A scale
// that this leaves below 2^-32 becomes 0.
inline TfliteMultiplier tflite_multiplier_of(double scale) {
  constexpr std::int64_t kOne = std::int64_t{1} << 31;
  if (scale == 0) return {};
  int exponent = 0;
  auto fixed = static_cast<std::int64_t>(std::round(std::frexp(scale, &exponent) * 0x1.0p31));
  if (fixed == kOne) {
    fixed /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
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
      rounding_shift(static_cast<std::int64_t>(a) * b, 31, RoundingMode::kHalfUp));
}

// TensorFlow Lite's MultiplyByQuantizedMultiplier (kernels/internal/common.h): t shifted left by a
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

}  // namespace qsim
