// Requantizers as the tests draw them, and an oracle of core/numerics/requantizer.h: exact integer
// division on 128 bits, where float32 is a search for the two neighbours with 24 significant bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "core/base/random.h"
#include "core/numerics/requantizer.h"
#include "tests/core/rounding_oracle.h"

namespace qsim::test {

inline constexpr std::array<RequantizerRounding, kAcceleratorRequantizerRoundings>
    kRequantizerRoundingList = {RequantizerRounding::kFloor, RequantizerRounding::kHalfEven,
                                RequantizerRounding::kHalfUp, RequantizerRounding::kFloat32};

// The nearest number with 24 significant bits; a tie goes to the even significand.
inline Wide oracle_float32(Wide value) {
  if (value < 0) return -oracle_float32(-value);
  Wide unit = 1;
  while (value / unit > kMostMultiplier) unit *= 2;
  const Wide below = value / unit * unit;
  if (below == value) return value;
  const Wide to_below = value - below;
  const Wide to_above = below + unit - value;
  if (to_below != to_above) return to_below < to_above ? below : below + unit;
  return below / unit % 2 == 0 ? below : below + unit;
}

inline Wide limited_to_int32(Wide value) {
  return std::min<Wide>(std::max<Wide>(value, INT32_MIN), INT32_MAX);
}

// TensorFlow Lite's products by exact division. 2^31 * scale is multiplier * 2^exponent.
inline Wide oracle_tflite(std::int64_t t, const Requantizer& r) {
  const Wide number = limited_to_int32(t);
  if (r.rounding == RequantizerRounding::kTfliteSingle) {
    return oracle_divide(number * r.multiplier, r.shift, RoundingMode::kHalfUp);
  }
  const int exponent = 31 - r.shift;
  const Wide shifted = limited_to_int32(number * power_of_two(std::max(exponent, 0)));
  const Wide high = oracle_divide(shifted * r.multiplier, 31, RoundingMode::kHalfUp);
  return oracle_divide(high, std::max(-exponent, 0), RoundingMode::kHalfAway);
}

inline Wide oracle_product(std::int64_t t, const Requantizer& r) {
  switch (r.rounding) {
    case RequantizerRounding::kTflite:
    case RequantizerRounding::kTfliteSingle:
      return oracle_tflite(t, r);
    case RequantizerRounding::kFloor:
      return oracle_divide(Wide{t} * r.multiplier, r.shift, RoundingMode::kFloor);
    case RequantizerRounding::kHalfEven:
      return oracle_divide(Wide{t} * r.multiplier, r.shift, RoundingMode::kHalfEven);
    case RequantizerRounding::kHalfUp:
      return oracle_divide(Wide{t} * r.multiplier, r.shift, RoundingMode::kHalfUp);
    case RequantizerRounding::kFloat32:
      break;
  }
  return oracle_divide(oracle_float32(oracle_float32(t) * r.multiplier), r.shift,
                       RoundingMode::kHalfEven);
}

inline std::string text_of(std::int64_t t, const Requantizer& r) {
  return "t " + std::to_string(t) + " multiplier " + std::to_string(r.multiplier) + " shift " +
         std::to_string(r.shift) + " rounding " + std::to_string(static_cast<int>(r.rounding));
}

// A psum or bias: often a corner, else uniform over a random magnitude.
inline std::int32_t random_psum(Random& random) {
  constexpr std::array<std::int32_t, 13> kCorners = {
      0,       1,       -1,      INT32_MIN,  INT32_MIN + 1, INT32_MAX,    INT32_MAX - 1,
      1 << 30, 1 << 24, 1 << 23, -(1 << 24), (1 << 24) + 1, (1 << 24) + 3};
  if (random.chance(0.1)) return kCorners[static_cast<std::size_t>(random.uniform(0, 12))];
  const std::int64_t magnitude = std::int64_t{1} << random.uniform(0, 31);
  return static_cast<std::int32_t>(random.uniform(-magnitude, magnitude - 1));
}

inline std::uint32_t random_multiplier(Random& random) {
  if (random.chance(0.05)) return kLeastMultiplier;
  if (random.chance(0.05)) return kMostMultiplier;
  return static_cast<std::uint32_t>(random.uniform(kLeastMultiplier, kMostMultiplier));
}

inline Requantizer random_requantizer(Random& random) {
  return {random_multiplier(random), static_cast<int>(random.uniform(0, kMostRequantizerShift)),
          kRequantizerRoundingList[static_cast<std::size_t>(random.uniform(0, 3))]};
}

// 31 bits, 0 at times; nearly always a scale below 1, as networks have them.
inline Requantizer random_tflite_requantizer(Random& random, RequantizerRounding rounding) {
  const int least = rounding == RequantizerRounding::kTflite ? 0 : 1;
  const auto shift = static_cast<int>(random.uniform(random.chance(0.2) ? least : 31, 62));
  if (random.chance(0.02)) return {0, shift, rounding};
  if (random.chance(0.05)) return {INT32_MAX, shift, rounding};
  return {static_cast<std::uint32_t>(random.uniform(1 << 30, INT32_MAX)), shift, rounding};
}

// A requantizer that takes |t| to within 2^-24 of a tie between two levels of 8 bits, if there is
// one: the multiplier nearest to (level + 1/2) / |t|, a little off it at times. t is not 0.
inline Requantizer near_tie(Random& random, std::int64_t t) {
  const Wide twice_level = 2 * random.uniform(0, 255) + 1;
  const Wide magnitude = t < 0 ? -t : t;
  Requantizer r;
  r.shift = 0;
  // The least shift at which the multiplier is normalised.
  while (r.shift < kMostRequantizerShift &&
         twice_level * power_of_two(r.shift) / (2 * magnitude) < kLeastMultiplier) {
    ++r.shift;
  }
  const Wide nearest = (twice_level * power_of_two(r.shift) / magnitude + 1) / 2;
  const Wide moved = nearest + (random.chance(0.3) ? random.uniform(-1, 1) : 0);
  r.multiplier = static_cast<std::uint32_t>(
      std::min<Wide>(std::max<Wide>(moved, kLeastMultiplier), kMostMultiplier));
  r.rounding = kRequantizerRoundingList[static_cast<std::size_t>(random.uniform(0, 3))];
  return r;
}

}  // namespace qsim::test
