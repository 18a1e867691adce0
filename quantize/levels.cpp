#include "quantize/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

constexpr int kDyadicBits = 8;

void check(const Levels& levels) {
  if (levels.bits < 1 || levels.bits > 8) {
    throw_bad_input("levels of " + std::to_string(levels.bits) + " bits; allowed are 1 to 8");
  }
  if (levels.bits == 1 && levels.is_unsigned && levels.reduced) {
    throw_bad_input("one unsigned bit cannot be reduced: it would have one level");
  }
}

// With 0 in it.
Range widened(const Range& range) {
  if (!std::isfinite(range.lo) || !std::isfinite(range.hi) || range.lo > range.hi) {
    throw_bad_input("range " + std::to_string(range.lo) + " to " + std::to_string(range.hi) +
                    " cannot be quantized; allowed are finite numbers, the lower one first");
  }
  return {std::min(range.lo, 0.0F), std::max(range.hi, 0.0F)};
}

std::int32_t symmetric_zero_point(const Range& range, const Levels& levels) {
  if (!levels.is_unsigned || range.lo == 0) return 0;
  return (levels.hi() + 1) / 2;
}

}  // namespace

std::int32_t Levels::lo() const {
  if (is_unsigned) return 0;
  if (bits == 1) return -1;
  return -(std::int32_t{1} << (bits - 1)) + (reduced ? 1 : 0);
}

std::int32_t Levels::hi() const {
  if (is_unsigned) return (std::int32_t{1} << bits) - (reduced ? 2 : 1);
  if (bits == 1) return 1;
  return (std::int32_t{1} << (bits - 1)) - 1;
}

double covering_scale(const Range& given, const Levels& levels, Symmetry symmetry) {
  check(levels);
  const Range range = widened(given);
  const double lo = range.lo;
  const double hi = range.hi;
  const double steps = levels.hi() - levels.lo();
  if (symmetry == Symmetry::kAffine) return (hi - lo) / steps;
  const double largest = std::max(-lo, hi);
  const std::int32_t zero_point = symmetric_zero_point(range, levels);
  const double positive_steps = std::max(levels.hi() - zero_point, 1);
  const bool one_sided = levels.is_unsigned && zero_point == 0;
  if (symmetry == Symmetry::kSymmetricMax || one_sided) return largest / positive_steps;
  return 2 * largest / steps;
}

Quantization quantization_at(float scale, const Range& given, const Levels& levels,
                             Symmetry symmetry) {
  check(levels);
  const Range range = widened(given);
  Quantization quantization{.scale = scale, .zero_point = 0, .lo = levels.lo(), .hi = levels.hi()};
  if (symmetry != Symmetry::kAffine) {
    quantization.zero_point = symmetric_zero_point(range, levels);
    return quantization;
  }
  const double at_zero = std::nearbyint(levels.lo() - static_cast<double>(range.lo) / scale);
  quantization.zero_point =
      static_cast<std::int32_t>(std::clamp<double>(at_zero, quantization.lo, quantization.hi));
  return quantization;
}

Quantization quantization_of(const Range& range, const Levels& levels, Symmetry symmetry,
                             ScaleKind kind) {
  const double scale = covering_scale(range, levels, symmetry);
  if (scale == 0) return {.scale = 1, .zero_point = 0, .lo = levels.lo(), .hi = levels.hi()};
  const float rounded =
      kind == ScaleKind::kFloat ? float_scale(scale) : std::ldexp(1.0F, covering_exponent(scale));
  return quantization_at(rounded, range, levels, symmetry);
}

int covering_exponent(double scale) {
  int exponent = 0;
  const double mantissa = std::frexp(scale, &exponent);  // scale = mantissa * 2^exponent, from 1/2
  if (mantissa == 0.5) --exponent;
  return std::clamp(exponent, kLeastScaleExponent, kMostScaleExponent);
}

float float_scale(double scale) {
  return static_cast<float>(std::clamp<double>(scale, std::numeric_limits<float>::min(),
                                               std::numeric_limits<float>::max()));
}

float dyadic_scale(double scale) {
  int exponent = 0;
  const double mantissa = std::frexp(scale, &exponent);
  const double multiplier = std::nearbyint(std::ldexp(mantissa, kDyadicBits));
  constexpr double kLargest = 0xFFp120;
  return static_cast<float>(std::clamp<double>(std::ldexp(multiplier, exponent - kDyadicBits),
                                               std::numeric_limits<float>::min(), kLargest));
}

}  // namespace qsim::quantize
