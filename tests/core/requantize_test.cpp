// Compares core/numerics/requantize.h with an oracle that shares nothing with it: exact integer
// division with remainder on 128 bits, and the definition of each rounding mode in words.
#include "core/numerics/requantize.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/core/rounding_oracle.h"

namespace qsim {
namespace {

using test::oracle_divide;
using test::Wide;

constexpr std::int32_t kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::array<RoundingMode, kRoundingModes> kModes = {
    RoundingMode::kFloor, RoundingMode::kHalfEven, RoundingMode::kHalfUp, RoundingMode::kHalfAway,
    RoundingMode::kTowardZero};

Wide oracle_requantize(std::int32_t acc, std::int32_t bias, int shift, RoundingMode mode,
                       std::int32_t zero_point, std::int32_t lo, std::int32_t hi) {
  const Wide q = oracle_divide(Wide{acc} + Wide{bias}, shift, mode) + zero_point;
  return std::min<Wide>(std::max<Wide>(q, lo), hi);
}

// A psum or bias: often a corner, else uniform over a random magnitude.
std::int32_t random_int32(Random& random) {
  constexpr std::array<std::int32_t, 9> kCorners = {
      0, 1, -1, kMin32, kMin32 + 1, kMax32, kMax32 - 1, 1 << 30, -(1 << 30)};
  if (random.chance(0.2)) {
    return kCorners[static_cast<std::size_t>(random.uniform(0, kCorners.size() - 1))];
  }
  const std::int64_t magnitude = std::int64_t{1} << random.uniform(0, 31);
  return static_cast<std::int32_t>(random.uniform(-magnitude, magnitude - 1));
}

std::string case_text(std::int64_t t, int shift, RoundingMode mode) {
  return "t " + std::to_string(t) + " shift " + std::to_string(shift) + " mode " +
         std::to_string(static_cast<int>(mode));
}

TEST(Requantize, EqualsTheOracleForEverySmallSumAndShift) {
  for (const RoundingMode mode : kModes) {
    for (int shift = 0; shift <= 14; ++shift) {
      for (std::int32_t t = -4096; t <= 4096; ++t) {
        ASSERT_EQ(rounding_shift(t, shift, mode),
                  static_cast<std::int64_t>(oracle_divide(t, shift, mode)))
            << case_text(t, shift, mode);
      }
    }
  }
}

TEST(Requantize, EqualsTheOracleOverTheFullRange) {
  const std::uint64_t seed = 20240601;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 2000000; ++i) {
    const std::int32_t acc = random_int32(random);
    const std::int32_t bias = random_int32(random);
    const int shift = static_cast<int>(random.uniform(0, kMaxShift));
    const RoundingMode mode = kModes[static_cast<std::size_t>(random.uniform(0, 4))];
    const bool is_unsigned = random.chance(0.5);
    const std::int32_t type_min = is_unsigned ? 0 : -128;
    const auto zero_point = static_cast<std::int32_t>(random.uniform(type_min, type_min + 255));
    const auto lo = static_cast<std::int32_t>(random.uniform(type_min, type_min + 255));
    const auto hi = static_cast<std::int32_t>(random.uniform(lo, type_min + 255));
    ASSERT_EQ(
        requantize(acc, bias, shift, mode, zero_point, lo, hi),
        static_cast<std::int32_t>(oracle_requantize(acc, bias, shift, mode, zero_point, lo, hi)))
        << "acc " << acc << " bias " << bias << " "
        << case_text(std::int64_t{acc} + bias, shift, mode) << " zero_point " << zero_point;
  }
}

TEST(Requantize, EqualsTheOracleAroundEveryCornerOfTheSum) {
  const std::int64_t lowest = 2 * std::int64_t{kMin32};
  const std::int64_t highest = 2 * std::int64_t{kMax32};
  for (const RoundingMode mode : kModes) {
    for (int shift = 0; shift <= kMaxShift; ++shift) {
      for (const std::int64_t corner :
           {lowest, std::int64_t{kMin32}, std::int64_t{0}, std::int64_t{kMax32}, highest}) {
        for (std::int64_t t = corner - 3; t <= corner + 3; ++t) {
          if (t < lowest || t > highest) continue;
          ASSERT_EQ(rounding_shift(t, shift, mode),
                    static_cast<std::int64_t>(oracle_divide(t, shift, mode)))
              << case_text(t, shift, mode);
        }
      }
    }
  }
}

// docs/reference/numerics.md: 34 bits are enough for t + r, and 33 are not.
TEST(Requantize, TheSumBeforeTheShiftNeedsExactly34Bits) {
  std::int64_t highest = 0;
  std::int64_t lowest = 0;
  for (const RoundingMode mode : kModes) {
    for (int shift = 0; shift <= kMaxShift; ++shift) {
      for (const std::int64_t t : {2 * std::int64_t{kMin32}, 2 * std::int64_t{kMax32}}) {
        highest = std::max(highest, t + rounding_addend(t, shift, mode));
        lowest = std::min(lowest, t + rounding_addend(t, shift, mode));
      }
    }
  }
  EXPECT_GE(highest, std::int64_t{1} << 32);
  EXPECT_LT(highest, std::int64_t{1} << 33);
  EXPECT_EQ(lowest, -(std::int64_t{1} << 32));
}

TEST(Requantize, HalfEvenRoundsTiesToTheEvenNeighbour) {
  EXPECT_EQ(rounding_shift(2, 2, RoundingMode::kHalfEven), 0);
  EXPECT_EQ(rounding_shift(6, 2, RoundingMode::kHalfEven), 2);
  EXPECT_EQ(rounding_shift(-2, 2, RoundingMode::kHalfEven), 0);
  EXPECT_EQ(rounding_shift(-6, 2, RoundingMode::kHalfEven), -2);
}

TEST(Requantize, NeverFallsWhenThePsumRises) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 300000; ++i) {
    const std::int32_t a = random_int32(random);
    const auto b = static_cast<std::int32_t>(
        std::min<std::int64_t>(kMax32, std::int64_t{a} + random.uniform(0, 70000)));
    const std::int32_t bias = random_int32(random);
    const int shift = static_cast<int>(random.uniform(0, kMaxShift));
    for (const RoundingMode mode : kModes) {
      ASSERT_LE(requantize(a, bias, shift, mode, 3, -128, 127),
                requantize(b, bias, shift, mode, 3, -128, 127))
          << "psums " << a << " and " << b << ", bias " << bias << ", shift " << shift;
    }
  }
}

// What lets the compiler move max-pool and ReLU before or after the requantization.
TEST(Requantize, CommutesWithMaxPoolAndRelu) {
  const std::uint64_t seed = 12;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 300000; ++i) {
    const std::int32_t a = random_int32(random);
    const std::int32_t b = random_int32(random);
    const std::int32_t bias = random_int32(random);
    const int shift = static_cast<int>(random.uniform(0, kMaxShift));
    const auto zero_point = static_cast<std::int32_t>(random.uniform(-128, 127));
    for (const RoundingMode mode : kModes) {
      const auto q = [&](std::int32_t acc, std::int32_t lo) {
        return requantize(acc, bias, shift, mode, zero_point, lo, 127);
      };
      ASSERT_EQ(q(std::max(a, b), -128), std::max(q(a, -128), q(b, -128)));
      ASSERT_EQ(q(a, zero_point), std::max(q(a, -128), zero_point));
    }
  }
}

// The carried datapath computes the same activation, 128 lower.
TEST(Requantize, CarriesUint8AsInt8WithoutChangingTheResult) {
  const std::uint64_t seed = 13;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 300000; ++i) {
    const std::int32_t acc = random_int32(random);
    const int shift = static_cast<int>(random.uniform(0, kMaxShift));
    const auto zero_point = static_cast<std::int32_t>(random.uniform(0, 255));
    const auto lo = static_cast<std::int32_t>(random.uniform(0, 255));
    const auto hi = static_cast<std::int32_t>(random.uniform(lo, 255));
    const std::int32_t u = requantize(acc, 0, shift, RoundingMode::kHalfEven, zero_point, lo, hi);
    const std::int32_t q =
        requantize(acc, 0, shift, RoundingMode::kHalfEven, carried(zero_point, true),
                   carried(lo, true), carried(hi, true));
    ASSERT_EQ(static_cast<std::uint8_t>(u) ^ 0x80u, static_cast<std::uint8_t>(q));
    ASSERT_EQ(carried(q, false), q);
  }
}

// Up to the very ends of what 32 bits hold: |t| + 2^shift + |zero_point| <= INT32_MAX.
TEST(RequantizeNarrow, EqualsTheWideOneWhereverItMayBeUsed) {
  constexpr std::uint64_t kSeed = 21;
  Random random(kSeed);
  for (int i = 0; i < 300000; ++i) {
    const int shift = static_cast<int>(random.uniform(0, 30));
    const auto mode = static_cast<RoundingMode>(random.uniform(0, kRoundingModes - 1));
    const auto zero_point = static_cast<std::int32_t>(random.uniform(-128, 255));
    const std::int64_t most = INT32_MAX - (std::int64_t{1} << shift) - 256;
    const std::int64_t ends[] = {-most, most, 0, -1, 1};
    const auto t = static_cast<std::int32_t>(random.chance(0.1) ? ends[random.uniform(0, 4)]
                                                                : random.uniform(-most, most));
    const auto lo = static_cast<std::int32_t>(random.uniform(-128, 255));
    const auto hi = static_cast<std::int32_t>(random.uniform(lo, 255));
    ASSERT_EQ(requantize_narrow(t, shift, mode, zero_point, lo, hi),
              requantize(t, 0, shift, mode, zero_point, lo, hi))
        << "seed " << kSeed << ": t " << t << " shift " << shift << " mode "
        << static_cast<int>(mode) << " zero_point " << zero_point;
  }
}

}  // namespace
}  // namespace qsim
