// core/numerics/tflite_rounding.h and core/numerics/tflite_adder.h against numbers that the tests
// of TensorFlow Lite and ruy publish, against gemmlowp's definition as it is written there, and
// against exact division of wide integers.
#include "core/numerics/tflite_rounding.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/numerics/tflite_adder.h"
#include "tests/core/requantizer_oracle.h"

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

// tensorflow/lite/kernels/internal/quantization_util_test.cc of github.com/tensorflow/tensorflow,
// commit 06f91ea82a: QuantizeMultiplierSmallerThanOneExp, ...GreaterThanOne, ...Underflow.
TEST(TfliteRounding, SplitsThePublishedScales) {
  const std::vector<std::pair<double, TfliteMultiplier>> published = {
      {0.25, {1073741824, -1}},
      {0.50 - 5e-9, {2147483627, -1}},
      {0.50 - 1e-10, {1073741824, 0}},
      {0.50, {1073741824, 0}},
      {0.75, {1610612736, 0}},
      {1 - 1e-9, {2147483646, 0}},
      {1 + 1e-11, {1073741824, 1}},
      {1.25, {1342177280, 1}},
      {1.50, {1610612736, 1}},
      {1.75, {1879048192, 1}},
      {2 - 1e-9, {2147483647, 1}},
      {2 - 1e-11, {1073741824, 2}},
      {2, {1073741824, 2}},
      {0x1.0p-31, {1073741824, -30}},
      {0x1.0p-32, {1073741824, -31}},
      {std::ldexp(0.99F, -32), {0, 0}},
      {0x1.0p-33, {0, 0}},
  };
  for (const auto& [scale, expected] : published) {
    EXPECT_EQ(tflite_multiplier_of(scale), expected) << scale;
    EXPECT_EQ(tflite_multiplier_of(scale, 30), expected) << scale;
  }
  EXPECT_EQ(tflite_multiplier_of(0x1.0p30, 30), (TfliteMultiplier{kMax32, 30}));
  EXPECT_EQ(tflite_multiplier_of(0x1.0p30), (TfliteMultiplier{1 << 30, 31}));
}

// The same file: MultiplyByQuantizedMultiplierInt32, for builds with and without
// TFLITE_SINGLE_ROUNDING.
TEST(TfliteRounding, BothRoundingsGiveThePublishedProducts) {
  struct Product {
    std::int32_t t;
    double scale;
    std::int32_t expected;
  };
  const std::vector<Product> published = {
      {0, 0.1, 0},
      {1, 0, 0},
      {10000, 0.00097656, 10},
      {-10000, 0.00097656, -10},
      {kMin32, 0.00001, -21475},
      {kMax32, 0.00001, 21475},
  };
  for (const auto& [t, scale, expected] : published) {
    EXPECT_EQ(tflite_product(t, tflite_multiplier_of(scale)), expected) << t << " * " << scale;
    EXPECT_EQ(tflite_product_once(t, tflite_multiplier_of(scale, 30)), expected)
        << t << " * " << scale;
  }
  const TfliteMultiplier largest{kMax32, -3};
  const auto expected = static_cast<std::int32_t>(
      std::round(static_cast<double>(std::int64_t{kMax32} * kMax32) / 0x1.0p34));
  for (const std::int32_t sign : {-1, 1}) {
    EXPECT_EQ(tflite_product(sign * kMax32, largest), sign * expected);
    EXPECT_EQ(tflite_product_once(sign * kMax32, largest), sign * expected);
  }
}

TEST(TfliteRounding, ASplitIsTheFractionOfFrexpRounded) {
  const std::uint64_t seed = 33;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 300000; ++i) {
    const double fraction =
        0.5 + std::ldexp(static_cast<double>(random.uniform(0, (std::int64_t{1} << 52) - 1)), -53);
    const double scale = std::ldexp(fraction, static_cast<int>(random.uniform(-31, 30)));
    int exponent = 0;
    const double rounded = std::round(std::frexp(scale, &exponent) * 0x1.0p31);
    const auto [multiplier, found] = tflite_multiplier_of(scale);
    ASSERT_EQ(std::ldexp(multiplier, found), std::ldexp(rounded, exponent)) << scale;
    ASSERT_TRUE(is_valid(tflite_requantizer(scale, RequantizerRounding::kTflite))) << scale;
  }
}

TEST(TfliteRounding, EqualsTheOracleOfWideIntegersInBothRoundings) {
  const std::uint64_t seed = 34;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int differ = 0;
  for (int i = 0; i < 1000000; ++i) {
    const std::int64_t t = std::int64_t{test::random_psum(random)} +
                           (random.chance(0.2) ? test::random_psum(random) : 0);
    Requantizer r = test::random_tflite_requantizer(random, RequantizerRounding::kTfliteSingle);
    ASSERT_EQ(rounded_product(t, r), static_cast<std::int64_t>(test::oracle_product(t, r)))
        << test::text_of(t, r);
    const std::int64_t once = rounded_product(t, r);
    r.rounding = RequantizerRounding::kTflite;
    ASSERT_EQ(rounded_product(t, r), static_cast<std::int64_t>(test::oracle_product(t, r)))
        << test::text_of(t, r);
    differ += once != rounded_product(t, r) && std::abs(once) < 256;
  }
  // Otherwise the draws do not tell one rounding from two.
  EXPECT_GT(differ, 100);
}

// kernels/internal/reference/integer_ops/add.h and kernels/add.cc, as they are written there, on
// wide integers.
TEST(TfliteAdder, EqualsTheOracleOfWideIntegersInBothRoundings) {
  const std::uint64_t seed = 35;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::int64_t within = 0;
  const auto scale = [&] {
    return *Scale::of(std::ldexp(static_cast<float>(random.uniform(1 << 23, (1 << 24) - 1)),
                                 static_cast<int>(random.uniform(-28, -24))));
  };
  const auto level = [&] { return static_cast<std::int32_t>(random.uniform(-128, 127)); };
  for (int i = 0; i < 300000; ++i) {
    const LevelScale a{scale(), level()};
    const LevelScale b{scale(), level()};
    const LevelScale y{scale(), level()};
    const std::int32_t q[] = {level(), level()};
    for (const auto rounding : {RequantizerRounding::kTflite, RequantizerRounding::kTfliteSingle}) {
      const double twice = 2 * std::max(a.scale.real(), b.scale.real());
      const auto product = [&](test::Wide t, double real) {
        return test::oracle_tflite(static_cast<std::int64_t>(t),
                                   tflite_requantizer(real, rounding));
      };
      const test::Wide sum = product((q[0] - a.zero_point) * (1 << 20), a.scale.real() / twice) +
                             product((q[1] - b.zero_point) * (1 << 20), b.scale.real() / twice);
      const test::Wide expected = product(sum, twice / ((1 << 20) * y.scale.real())) + y.zero_point;
      const std::int32_t found = tflite_add_levels(q[0], q[1], tflite_adder_of(a, b, y, rounding),
                                                   y.zero_point, -128, 127);
      ASSERT_EQ(found, static_cast<std::int32_t>(
                           std::min<test::Wide>(std::max<test::Wide>(expected, -128), 127)))
          << i << ": " << q[0] << " + " << q[1] << " rounding " << static_cast<int>(rounding);
      within += found > -128 && found < 127;
    }
  }
  EXPECT_GT(within, 200000);
}

TEST(TfliteRounding, ALeftShiftSaturates) {
  EXPECT_EQ(tflite_product(kMax32, {1 << 30, 2}), 1 << 30);
  EXPECT_EQ(tflite_product(kMin32, {1 << 30, 2}), -(1 << 30));
}

}  // namespace
}  // namespace qsim
