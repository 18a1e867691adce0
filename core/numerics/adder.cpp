#include "core/numerics/adder.h"

#include <cmath>

namespace qsim {
namespace {

// A whole number of units: every float32 here is.
std::int64_t units_of(float real) {
  return static_cast<std::int64_t>(std::ldexp(static_cast<double>(real), kAdderFractionBits));
}

}  // namespace

std::optional<float> adder_ratio(const Scale& operand, const Scale& output) {
  const float ratio = operand.real() / output.real();
  const bool is_in_range =
      ratio >= std::ldexp(1.0F, kLeastLog2Ratio) && ratio < std::ldexp(1.0F, kMostLog2Ratio);
  return is_in_range ? std::optional(ratio) : std::nullopt;
}

std::optional<Adder> adder_of(const LevelScale& a, const LevelScale& b, const LevelScale& output,
                              RequantizerRounding rounding) {
  const auto a_ratio = adder_ratio(a.scale, output.scale);
  const auto b_ratio = adder_ratio(b.scale, output.scale);
  if (!a_ratio || !b_ratio) return std::nullopt;
  Adder adder{units_of(*a_ratio), units_of(*b_ratio), 0, rounding};
  if (rounding == RequantizerRounding::kFloat32) {
    const float b_part = *b_ratio * static_cast<float>(b.zero_point);
    const float zero = std::fma(*a_ratio, static_cast<float>(a.zero_point), b_part);
    adder.fixed = units_of(static_cast<float>(output.zero_point) - zero);
  } else {
    adder.fixed = -(adder.a_ratio * a.zero_point + adder.b_ratio * b.zero_point);
  }
  return adder;
}

}  // namespace qsim
