// The definition of each rounding mode in words, by exact integer division with remainder on 128
// bits. It shares nothing with core/numerics/requantize.h but the names of the modes.
#pragma once

#include "core/numerics/requantize.h"

namespace qsim::test {

__extension__ typedef __int128 Wide;

// 2^exponent, 0 <= exponent <= 126
inline Wide power_of_two(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 2;
  return power;
}

// t / 2^shift: the two integers around it and the mode's choice between them.
inline Wide oracle_divide(Wide t, int shift, RoundingMode mode) {
  const Wide divisor = power_of_two(shift);
  Wide below = t / divisor;
  if (below * divisor > t) below -= 1;
  if (below * divisor == t) return below;
  const Wide above = below + 1;
  if (mode == RoundingMode::kFloor) return below;
  if (mode == RoundingMode::kTowardZero) return t < 0 ? above : below;
  const Wide to_below = t - below * divisor;
  const Wide to_above = above * divisor - t;
  if (to_below != to_above) return to_below < to_above ? below : above;
  if (mode == RoundingMode::kHalfUp) return above;
  if (mode == RoundingMode::kHalfAway) return t < 0 ? below : above;
  return below % 2 == 0 ? below : above;
}

}  // namespace qsim::test
