// TensorFlow Lite's addition of two quantized tensors (kernels/add.cc): each operand is shifted
// left by 20 bits and multiplied to half of the larger input scale at most; the sum is multiplied
// to the output's scale. Three products, each by core/numerics/tflite_rounding.h. For golden on the
// CPU alone; core/numerics/adder.h has the accelerator's addition.
#pragma once

#include <algorithm>

#include "core/numerics/adder.h"

namespace qsim {

struct TfliteAdder {
  Requantizer a;
  Requantizer b;
  Requantizer output;
  std::int32_t a_zero_point = 0;
  std::int32_t b_zero_point = 0;
};

inline constexpr int kTfliteAdderShift = 20;

// The adder of operands and output with these scales and zero_points; `rounding` is one of
// TensorFlow Lite's. TensorFlow Lite multiplies by 2 and by 2^20 in float32, and divides in double.
constexpr TfliteAdder tflite_adder_of(const LevelScale& a, const LevelScale& b,
                                      const LevelScale& output, RequantizerRounding rounding) {
  const double larger = std::max(a.scale.real(), b.scale.real());
  const double shifted = static_cast<double>(output.scale.real()) * (1 << kTfliteAdderShift);
  return {tflite_requantizer(a.scale.real() / (2 * larger), rounding),
          tflite_requantizer(b.scale.real() / (2 * larger), rounding),
          tflite_requantizer(2 * larger / shifted, rounding), a.zero_point, b.zero_point};
}

// One operand's part of the sum: |level - zero_point| <= 255, so |the argument| < 2^28 and, its
// multiplier being at most 1/2, |the part| <= 2^27.
constexpr std::int64_t tflite_part(std::int32_t level, std::int32_t zero_point,
                                   const Requantizer& scale) {
  return tflite_level(std::int64_t{level - zero_point} << kTfliteAdderShift, scale);
}

// The level of a sum of two parts.
constexpr std::int32_t tflite_sum(std::int64_t parts, const TfliteAdder& adder,
                                  std::int32_t zero_point, std::int32_t lo, std::int32_t hi) {
  return clamp_to(tflite_level(parts, adder.output) + zero_point, lo, hi);
}

constexpr std::int32_t tflite_add_levels(std::int32_t a, std::int32_t b, const TfliteAdder& adder,
                                         std::int32_t zero_point, std::int32_t lo,
                                         std::int32_t hi) {
  return tflite_sum(
      tflite_part(a, adder.a_zero_point, adder.a) + tflite_part(b, adder.b_zero_point, adder.b),
      adder, zero_point, lo, hi);
}

}  // namespace qsim
