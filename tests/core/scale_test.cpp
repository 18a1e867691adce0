// core/numerics/scale.h against the C library's frexp and ldexp in double, which holds every
// float32 exactly.
#include "core/numerics/scale.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim {
namespace {

void expect_exact(float real) {
  const auto scale = Scale::of(real);
  ASSERT_TRUE(scale.has_value()) << real;
  EXPECT_EQ(scale->real(), real);
  EXPECT_GE(scale->multiplier(), 1u << 23) << real;
  EXPECT_LT(scale->multiplier(), 1u << 24) << real;
  EXPECT_EQ(std::ldexp(static_cast<double>(scale->multiplier()), scale->exponent()),
            static_cast<double>(real));
  int exponent = 0;
  const bool is_power = std::frexp(static_cast<double>(real), &exponent) == 0.5;
  EXPECT_EQ(scale->log2().has_value(), is_power) << real;
  if (is_power) {
    EXPECT_EQ(scale->log2(), exponent - 1) << real;
  }
}

TEST(Scale, EveryPowerOfTwoIsExact) {
  for (int log2 = Scale::kMinLog2; log2 <= Scale::kMaxLog2; ++log2) {
    const Scale scale = Scale::power_of_two(log2);
    EXPECT_EQ(static_cast<double>(scale.real()), std::ldexp(1.0, log2));
    EXPECT_EQ(scale.log2(), log2);
    expect_exact(scale.real());
  }
}

TEST(Scale, RandomFloatsAreAnIntegerOf24BitsTimesAPowerOfTwo) {
  constexpr std::uint64_t kSeed = 5;
  Random random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int i = 0; i < 100'000; ++i) {
    expect_exact(std::bit_cast<float>(static_cast<std::uint32_t>(random.uniform(1, 0x7F7FFFFF))));
    // Subnormal ones, each number of leading zeros as often.
    expect_exact(std::bit_cast<float>(
        static_cast<std::uint32_t>(random.uniform(1, std::int64_t{1} << random.uniform(0, 23)))));
  }
}

TEST(Scale, TheEndsOfTheRangeAreExact) {
  for (const float real :
       {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
        std::nextafter(std::numeric_limits<float>::min(), 0.0F), std::nextafter(1.0F, 0.0F), 1.0F,
        std::numeric_limits<float>::max()}) {
    expect_exact(real);
  }
}

TEST(Scale, ZeroNegativeInfiniteAndNotANumberAreNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float real : {0.0F, -0.0F, -1.0F, kInfinity, -kInfinity, kNan, -kNan}) {
    EXPECT_FALSE(Scale::of(real).has_value()) << real;
  }
}

}  // namespace
}  // namespace qsim
