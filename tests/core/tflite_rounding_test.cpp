// core/tflite_rounding.h against numbers that TensorFlow Lite's sources publish, and against
// gemmlowp's definition as it is written there.
#include "core/tflite_rounding.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/core/rounding_oracle.h"

namespace qsim {
namespace {

constexpr std::int32_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kMin32 = std::numeric_limits<std::int32_t>::min();

struct Published {
  std::int32_t t;
  std::int32_t multiplier;
  int exponent;
  std::int32_t expected;
};

// ruy/apply_multiplier_test.cc of github.com/google/ruy, commit 8525a43: all but the negative tie
// of RoundingRightShift, which goes up in ruy and away from zero in gemmlowp, which the next test
// has.
TEST(TfliteRounding, GivesThePublishedNumbers) {
  const std::vector<Published> published = {
      {1000, kMax32, 0, 1000},
      {1000, 1 << 30, 0, 500},
      {1000, 1 << 29, 0, 250},
      {1000, (1 << 30) + (1 << 29), 0, 750},
      {1000, (1 << 30) + (1 << 28), 0, 625},
      {1000, (1 << 30) + (1 << 27), 0, 563},
      {1000, (1 << 30) + (1 << 26), 0, 531},
      {-1000, kMax32, 0, -1000},
      {-1000, 1 << 30, 0, -500},
      {-1000, 1 << 29, 0, -250},
      {-1000, (1 << 30) + (1 << 29), 0, -750},
      {-1000, (1 << 30) + (1 << 28), 0, -625},
      {-1000, (1 << 30) + (1 << 27), 0, -562},
      {-1000, (1 << 30) + (1 << 26), 0, -531},
      {1000, kMax32, -1, 500},
      {1000, kMax32, -2, 250},
      {1000, kMax32, -3, 125},
      {1000, kMax32, -4, 63},
      {1000, kMax32, -5, 31},
      {1000, kMax32, -6, 16},
      {-1000, kMax32, -1, -500},
      {-1000, kMax32, -2, -250},
      {-1000, kMax32, -3, -125},
      {-1000, kMax32, -5, -31},
      {-1000, kMax32, -6, -16},
      {1000, kMax32, 1, 2000},
      {1000, kMax32, 2, 4000},
      {1000, kMax32, 3, 8000},
      {-1000, kMax32, 1, -2000},
      {-1000, kMax32, 2, -4000},
      {-1000, kMax32, 3, -8000},
  };
  for (const Published& p : published) {
    EXPECT_EQ(tflite_product(p.t, {p.multiplier, p.exponent}), p.expected)
        << p.t << " * " << p.multiplier << " exponent " << p.exponent;
  }
}

// gemmlowp's test/test_fixedpoint.cc states RoundingDivideByPOT as std::round(x / 2^exponent).
TEST(TfliteRounding, TheRightShiftRoundsTiesAwayFromZero) {
  EXPECT_EQ(tflite_product(1000, {kMax32, -4}), 63);    // 62.5
  EXPECT_EQ(tflite_product(-1000, {kMax32, -4}), -63);  // -62.5
  Random random(31);
  for (int i = 0; i < 300000; ++i) {
    const auto t = static_cast<std::int32_t>(random.uniform(-(1 << 29), 1 << 29));
    const auto exponent = static_cast<int>(random.uniform(0, 31));
    // The multiplier 2^30 halves; the input is doubled, so that the first rounding has nothing to
    // do.
    ASSERT_EQ(tflite_product(2 * t, {1 << 30, -exponent}),
              static_cast<std::int32_t>(std::round(std::ldexp(static_cast<double>(t), -exponent))))
        << t << " exponent " << exponent;
  }
}

// The definition in words of gemmlowp's header: a nudge by the product's sign, then a division
// toward 0.
TEST(TfliteRounding, TheHighMultiplyIsGemmlowpsOfAnyTwoInt32) {
  const std::uint64_t seed = 32;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::int32_t ends[] = {kMin32, kMin32 + 1, -1, 0, 1, 1 << 30, kMax32 - 1, kMax32};
  const auto draw = [&] {
    if (random.chance(0.1)) return ends[random.uniform(0, 7)];
    return static_cast<std::int32_t>(random.uniform(kMin32, kMax32) >> random.uniform(0, 31));
  };
  for (int i = 0; i < 1000000; ++i) {
    const std::int32_t a = draw();
    const std::int32_t b = draw();
    const test::Wide product = test::Wide{a} * b;
    const test::Wide half = test::Wide{1} << 30;
    test::Wide expected = (product >= 0 ? product + half : product + 1 - half) / (2 * half);
    if (a == kMin32 && b == kMin32) expected = kMax32;
    ASSERT_EQ(doubling_high_multiply(a, b), static_cast<std::int32_t>(expected)) << a << " * " << b;
  }
}

TEST(TfliteRounding, AScaleIsSplitAsTensorFlowLiteDoes) {
  EXPECT_EQ(tflite_multiplier_of(0), (TfliteMultiplier{0, 0}));
  EXPECT_EQ(tflite_multiplier_of(1), (TfliteMultiplier{1 << 30, 1}));
  EXPECT_EQ(tflite_multiplier_of(0.5), (TfliteMultiplier{1 << 30, 0}));
  EXPECT_EQ(tflite_multiplier_of(0.25), (TfliteMultiplier{1 << 30, -1}));
  EXPECT_EQ(tflite_multiplier_of(0.75), (TfliteMultiplier{3 << 29, 0}));
  EXPECT_EQ(tflite_multiplier_of(1 - 0x1.0p-40), (TfliteMultiplier{1 << 30, 1}));
  EXPECT_EQ(tflite_multiplier_of(0x1.0p-32), (TfliteMultiplier{1 << 30, -31}));
  EXPECT_EQ(tflite_multiplier_of(0x1.0p-33), (TfliteMultiplier{0, 0}));
}

TEST(TfliteRounding, ALeftShiftSaturates) {
  EXPECT_EQ(tflite_product(kMax32, {1 << 30, 2}), 1 << 30);
  EXPECT_EQ(tflite_product(kMin32, {1 << 30, 2}), -(1 << 30));
}

}  // namespace
}  // namespace qsim
