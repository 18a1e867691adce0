// Compares core/numerics/adder.h with an oracle of wide integers, and its float32 rounding with the
// processor's own fused multiply-adds.
#include "core/numerics/adder.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/requantizer_oracle.h"

namespace qsim {
namespace {

using test::kRequantizerRoundingList;
using test::oracle_divide;
using test::oracle_float32;
using test::Wide;

constexpr float kUnit = 0x1p-39F;
static_assert(kAdderFractionBits == 39);

// Two operands and an output, as adder_of takes them.
struct Case {
  LevelScale a, b, y;
  std::int32_t a_level = 0;
  std::int32_t b_level = 0;
  std::int32_t lo = 0;
  std::int32_t hi = 0;
};

std::string text_of(const Case& c) {
  const auto text = [](const LevelScale& l) {
    return std::to_string(l.scale.real()) + " zero_point " + std::to_string(l.zero_point);
  };
  return "a " + std::to_string(c.a_level) + " of " + text(c.a) + ", b " +
         std::to_string(c.b_level) + " of " + text(c.b) + ", y " + text(c.y);
}

std::int32_t random_level(Random& random, std::int32_t least) {
  if (random.chance(0.1)) return least + (random.chance(0.5) ? 255 : 0);
  return static_cast<std::int32_t>(random.uniform(least, least + 255));
}

// Uniform in its logarithm.
float random_ratio(Random& random, int least_log2, int most_log2) {
  return std::ldexp(static_cast<float>(test::random_multiplier(random)),
                    static_cast<int>(random.uniform(least_log2, most_log2 - 1)) - 23);
}

// Half of the cases take their sum near a tie of two levels of 8 bits. There y's scale is 1, so
// that the ratios are the operands' scales.
Case random_case(Random& random) {
  const std::int32_t a_least = random.chance(0.5) ? 0 : -128;
  const std::int32_t b_least = random.chance(0.5) ? 0 : -128;
  const std::int32_t y_least = random.chance(0.5) ? 0 : -128;
  const bool wide = random.chance(0.2);
  const auto ratio = [&] { return random_ratio(random, wide ? -16 : -4, wide ? 8 : 1); };
  const float y_scale = random.chance(0.5) ? 1.0F : random_ratio(random, -12, 0);
  const auto scale = [&](float real) { return *Scale::of(std::clamp(real, 0x1p-40F, 0x1p20F)); };
  Case c{{scale(ratio() * y_scale), random_level(random, a_least)},
         {scale(ratio() * y_scale), random_level(random, b_least)},
         {scale(y_scale), random_level(random, y_least)},
         random_level(random, a_least),
         random_level(random, b_least)};
  c.lo = random.chance(0.8) ? y_least : random_level(random, y_least);
  c.hi = random.chance(0.8) ? y_least + 255
                            : static_cast<std::int32_t>(random.uniform(c.lo, y_least + 255));
  const double b = c.b_level - c.b.zero_point;
  if (y_scale == 1.0F && b != 0 && random.chance(0.9)) {
    const double tie = static_cast<double>(random.uniform(-128, 127)) + 0.5;
    const double a = static_cast<double>(c.a_level - c.a.zero_point) * c.a.scale.real();
    const double wanted = (tie - a) / b;
    if (wanted > 0x1p-16 && wanted < 0x1p8) c.b.scale = scale(static_cast<float>(wanted));
  }
  return c;
}

Wide oracle_level(const Case& c, const Adder& adder) {
  const Wide b_part = Wide{c.b_level} * adder.b_ratio + adder.fixed;
  const Wide a_part = Wide{c.a_level} * adder.a_ratio;
  switch (adder.rounding) {
    case RequantizerRounding::kFloor:
      return oracle_divide(a_part + b_part, 39, RoundingMode::kFloor) + c.y.zero_point;
    case RequantizerRounding::kHalfEven:
      return oracle_divide(a_part + b_part, 39, RoundingMode::kHalfEven) + c.y.zero_point;
    case RequantizerRounding::kHalfUp:
      return oracle_divide(a_part + b_part, 39, RoundingMode::kHalfUp) + c.y.zero_point;
    default:  // float32: TensorFlow Lite has an adder of its own
      break;
  }
  return oracle_divide(oracle_float32(a_part + oracle_float32(b_part)), 39,
                       RoundingMode::kHalfEven);
}

std::int32_t clamped(Wide level, const Case& c) {
  return static_cast<std::int32_t>(std::min<Wide>(std::max<Wide>(level, c.lo), c.hi));
}

// As ONNX Runtime's kernel for processors with FMA computes it. Each step is stored as a float32.
float processor_fixed(const Case& c) {
  const volatile float a_ratio = c.a.scale.real() / c.y.scale.real();
  const volatile float b_ratio = c.b.scale.real() / c.y.scale.real();
  const volatile float b_part = b_ratio * static_cast<float>(c.b.zero_point);
  const volatile float zero = std::fma(a_ratio, static_cast<float>(c.a.zero_point), b_part);
  return static_cast<float>(c.y.zero_point) - zero;
}

std::int32_t processor_level(const Case& c) {
  const volatile float a_ratio = c.a.scale.real() / c.y.scale.real();
  const volatile float b_ratio = c.b.scale.real() / c.y.scale.real();
  const volatile float b_part =
      std::fma(static_cast<float>(c.b_level), b_ratio, processor_fixed(c));
  const volatile float sum = std::fma(static_cast<float>(c.a_level), a_ratio, b_part);
  const float level = std::nearbyint(sum);
  return static_cast<std::int32_t>(
      std::min(std::max(level, static_cast<float>(c.lo)), static_cast<float>(c.hi)));
}

TEST(Adder, EqualsTheOracleOfWideIntegersInEveryRounding) {
  const std::uint64_t seed = 20261123;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::int64_t within = 0;
  std::int64_t computed = 0;
  for (int i = 0; i < 400000; ++i) {
    const Case c = random_case(random);
    for (const RequantizerRounding rounding : kRequantizerRoundingList) {
      const auto adder = adder_of(c.a, c.b, c.y, rounding);
      if (!adder) continue;
      const std::int32_t expected = clamped(oracle_level(c, *adder), c);
      ASSERT_EQ(add_levels(c.a_level, c.b_level, *adder, c.y.zero_point, c.lo, c.hi), expected)
          << text_of(c) << " rounding " << static_cast<int>(rounding);
      within += expected > c.lo && expected < c.hi;
      ++computed;
    }
  }
  // Saturated levels and scales out of range would prove little.
  EXPECT_GT(computed, 1500000);
  EXPECT_GT(within, computed / 2);
}

TEST(Adder, ExactRoundingsRoundTheRealSumOnce) {
  const std::uint64_t seed = 20261124;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 400000; ++i) {
    const Case c = random_case(random);
    const auto adder = adder_of(c.a, c.b, c.y, RequantizerRounding::kHalfEven);
    if (!adder) continue;
    // Exact in 64 bits of significand: multiples of 2^-39 below 2^18.
    const long double a = static_cast<long double>(c.a_level - c.a.zero_point) *
                          static_cast<long double>(c.a.scale.real() / c.y.scale.real());
    const long double b = static_cast<long double>(c.b_level - c.b.zero_point) *
                          static_cast<long double>(c.b.scale.real() / c.y.scale.real());
    const auto level = static_cast<std::int64_t>(std::nearbyint(a + b));
    ASSERT_EQ(add_levels(c.a_level, c.b_level, *adder, c.y.zero_point, c.lo, c.hi),
              clamped(level + c.y.zero_point, c))
        << text_of(c);
  }
}

TEST(Adder, Float32EqualsTheProcessorsFusedMultiplyAdds) {
  const std::uint64_t seed = 20261125;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int once_differs = 0;
  for (int i = 0; i < 1000000; ++i) {
    const Case c = random_case(random);
    const auto adder = adder_of(c.a, c.b, c.y, RequantizerRounding::kFloat32);
    if (!adder) continue;
    ASSERT_EQ(static_cast<float>(adder->fixed) * kUnit, processor_fixed(c)) << text_of(c);
    const std::int32_t found = add_levels(c.a_level, c.b_level, *adder, c.y.zero_point, c.lo, c.hi);
    ASSERT_EQ(found, processor_level(c)) << text_of(c);
    const auto once = adder_of(c.a, c.b, c.y, RequantizerRounding::kHalfEven);
    const std::int32_t other = add_levels(c.a_level, c.b_level, *once, c.y.zero_point, c.lo, c.hi);
    ASSERT_LE(std::abs(found - other), 1) << text_of(c);
    once_differs += found != other;
  }
  // Otherwise the draws do not tell the roundings apart.
  EXPECT_GT(once_differs, 10000);
  RecordProperty("once_differs", once_differs);
}

TEST(Adder, TakesRatiosFromTwoToTheMinus16UpToBelow256) {
  const LevelScale one{Scale::power_of_two(0), 0};
  const auto is_taken = [&](float ratio) {
    const LevelScale other{*Scale::of(ratio), 0};
    const bool first = adder_of(other, one, one, RequantizerRounding::kHalfEven).has_value();
    EXPECT_EQ(adder_of(one, other, one, RequantizerRounding::kHalfEven).has_value(), first);
    return first;
  };
  EXPECT_TRUE(is_taken(0x1p-16F));
  EXPECT_FALSE(is_taken(std::nextafter(0x1p-16F, 0.0F)));
  EXPECT_TRUE(is_taken(std::nextafter(256.0F, 0.0F)));
  EXPECT_FALSE(is_taken(256.0F));
  // Ratios that are not float32 at all.
  const LevelScale least{Scale::power_of_two(-149), 0};
  const LevelScale most{Scale::power_of_two(127), 0};
  EXPECT_FALSE(adder_of(most, most, least, RequantizerRounding::kFloat32).has_value());
  EXPECT_FALSE(adder_of(least, least, most, RequantizerRounding::kFloat32).has_value());
}

// docs/reference/numerics.md: the widths, at the levels and ratios that reach them.
TEST(Adder, SumsStayBelowTheWidthsOfTheContract) {
  const float ratio = std::nextafter(256.0F, 0.0F);
  std::int64_t largest = 0;
  for (const std::int32_t a_zero : {0, 255}) {
    for (const std::int32_t b_zero : {0, 255}) {
      for (const std::int32_t y_zero : {0, 255}) {
        for (const RequantizerRounding rounding : kRequantizerRoundingList) {
          const auto adder = adder_of({*Scale::of(ratio), a_zero}, {*Scale::of(ratio), b_zero},
                                      {Scale::power_of_two(0), y_zero}, rounding);
          ASSERT_TRUE(adder.has_value());
          ASSERT_LT(adder->a_ratio, std::int64_t{1} << 47);
          ASSERT_LT(std::abs(adder->fixed), std::int64_t{1} << 57);
          for (const std::int32_t a : {0, 255}) {
            for (const std::int32_t b : {0, 255}) {
              const Wide sum =
                  Wide{a} * adder->a_ratio + Wide{b} * adder->b_ratio + Wide{adder->fixed};
              ASSERT_LT(sum < 0 ? -sum : sum, test::power_of_two(57));
              largest = std::max(largest, static_cast<std::int64_t>(sum < 0 ? -sum : sum));
              const Case c{{*Scale::of(ratio), a_zero},
                           {*Scale::of(ratio), b_zero},
                           {Scale::power_of_two(0), y_zero},
                           a,
                           b,
                           0,
                           255};
              EXPECT_EQ(add_levels(a, b, *adder, y_zero, 0, 255),
                        clamped(oracle_level(c, *adder), c));
            }
          }
        }
      }
    }
  }
  EXPECT_GE(largest, std::int64_t{1} << 55);
}

}  // namespace
}  // namespace qsim
