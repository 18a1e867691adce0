// The addition of two quantized tensors: two levels times their scales, plus a constant, rounded
// once to an integer. Host and device use this one definition, which is integer arithmetic alone;
// it counts in units of 2^-kAdderFractionBits. docs/reference/numerics.md derives the widths.
#pragma once

#include <optional>

#include "core/numerics/requantizer.h"

namespace qsim {

// A ratio of scales is within 2^kLeastLog2Ratio..2^kMostLog2Ratio, the upper end excluded. So it is
// a whole number of units, less than 2^47 of them.
inline constexpr int kAdderFractionBits = 39;
inline constexpr int kLeastLog2Ratio = -16;
inline constexpr int kMostLog2Ratio = 8;

// ofmap = clamp(round(a * a_ratio + b * b_ratio + fixed), lo, hi), where a and b are the operands'
// levels as they are, zero_point included.
struct Adder {
  std::int64_t a_ratio = 0;  // in units; so are b_ratio and fixed
  std::int64_t b_ratio = 0;
  std::int64_t fixed = 0;  // what the zero_points add up to
  RequantizerRounding rounding = RequantizerRounding::kFloat32;

  friend bool operator==(const Adder&, const Adder&) = default;
};

// What the levels of a tensor mean: (level - zero_point) * scale.
struct LevelScale {
  Scale scale;
  std::int32_t zero_point;
};

// operand / output in float32; nothing where it is out of the range above.
std::optional<float> adder_ratio(const Scale& operand, const Scale& output);

// The adder of two operands and an output with these scales and zero_points. Nothing where a ratio
// is out of range. For kFloat32, `fixed` is y_zero_point - fma(a_ratio, a_zero_point, b_ratio *
// b_zero_point), each operation in float32, as ONNX Runtime's QLinearAdd has it on a processor with
// FMA (docs/reference/onnx.md). Otherwise it is exact: -(a_ratio * a_zero_point + b_ratio
// * b_zero_point), and the output's zero_point is added after rounding.
std::optional<Adder> adder_of(const LevelScale& a, const LevelScale& b, const LevelScale& output,
                              RequantizerRounding rounding);

// The float32 nearest to an integer of either sign; |value| < 2^62.
QSIM_HOST_DEVICE constexpr std::int64_t nearest_signed_float32(std::int64_t value) {
  return value < 0 ? -nearest_float32(-value) : nearest_float32(value);
}

// |a * a_ratio| < 2^55, so is b's product, and |fixed| < 2^57: all sums stay below 2^58. kFloat32
// is fma(a, a_ratio, fma(b, b_ratio, fixed)), then to the nearest integer with ties to even; the
// other roundings round the exact sum.
QSIM_HOST_DEVICE constexpr std::int32_t add_levels(std::int32_t a, std::int32_t b,
                                                   const Adder& adder, std::int32_t zero_point,
                                                   std::int32_t lo, std::int32_t hi) {
  const std::int64_t b_part = b * adder.b_ratio + adder.fixed;
  if (adder.rounding == RequantizerRounding::kFloat32) {
    const std::int64_t sum =
        nearest_signed_float32(a * adder.a_ratio + nearest_signed_float32(b_part));
    return clamp_to(rounding_shift(sum, kAdderFractionBits, RoundingMode::kHalfEven), lo, hi);
  }
  const std::int64_t level = rounding_shift(a * adder.a_ratio + b_part, kAdderFractionBits,
                                            static_cast<RoundingMode>(adder.rounding));
  return clamp_to(level + zero_point, lo, hi);
}

}  // namespace qsim
