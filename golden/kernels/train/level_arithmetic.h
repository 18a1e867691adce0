// How a real number becomes a level, and a range a scale: the one definition for host and device.
// Each operation is rounded by itself, so the including file must be compiled without contraction
// to fused multiply-adds.
#pragma once

#include <cfloat>
#include <cmath>

#include "core/numerics/requantize.h"
#include "golden/common/float_formats.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

struct Level {
  std::int8_t q;
  std::uint8_t passes;  // 1: not clamped, and no NaN; no bool, which GCC makes no vectors of
};

// `rounded` is an integer, an infinity or NaN; NaN is the level of 0.
QSIM_HOST_DEVICE inline Level clamp_level(float rounded, std::int32_t zero_point, std::int32_t lo,
                                          std::int32_t hi) {
  const bool is_nan = rounded != rounded;
  const float level = (is_nan ? 0.0F : rounded) + static_cast<float>(zero_point);
  const auto least = static_cast<float>(lo);
  const auto most = static_cast<float>(hi);
  const float clamped = level < least ? least : level > most ? most : level;
  const auto passes = static_cast<std::uint8_t>(!is_nan & (clamped == level));
  return {static_cast<std::int8_t>(clamped), passes};
}

QSIM_HOST_DEVICE inline float round_quotient(float quotient, LevelRounding rounding) {
  return rounding == LevelRounding::kHalfEven ? rintf(quotient) : truncf(quotient);
}

// What rounding took from a quotient that was not clamped, in 127ths.
QSIM_HOST_DEVICE inline std::int8_t residual_of(float quotient, float rounded) {
  return static_cast<std::int8_t>(rintf(127.0F * (quotient - rounded)));
}

inline constexpr float kLeastScale = 0x1p-126F;
inline constexpr float kMostPowerOfTwo = 0x1p127F;

// The scale of symmetric levels for max|x| = most (finite).
QSIM_HOST_DEVICE inline float symmetric_scale(float most, std::int32_t hi, bool power_of_two) {
  if (most == 0) return 1;
  const float scale = most / static_cast<float>(hi);
  if (!(scale > kLeastScale)) return kLeastScale;
  if (!power_of_two) return scale;
  if (scale > kMostPowerOfTwo) return kMostPowerOfTwo;
  return float_of((bits_of(scale) + 0x7FFFFF) & 0x7F800000);
}

struct AffineScale {
  float scale;
  std::int32_t zero_point;
};

// Covers a finite range and 0. A range beyond float32 counts as float32's greatest.
QSIM_HOST_DEVICE inline AffineScale affine_scale(float least, float most, std::int32_t lo,
                                                 std::int32_t hi) {
  const float from = least < 0 ? least : 0.0F;
  const float to = most > 0 ? most : 0.0F;
  const float range = to - from;
  if (range == 0) return {1, lo};
  float scale = (range > FLT_MAX ? FLT_MAX : range) / static_cast<float>(hi - lo);
  if (!(scale > kLeastScale)) scale = kLeastScale;
  const float zero_point = static_cast<float>(lo) - rintf(from / scale);
  return {scale, static_cast<std::int32_t>(
                     zero_point > static_cast<float>(hi) ? static_cast<float>(hi) : zero_point)};
}

}  // namespace qsim::golden::train
