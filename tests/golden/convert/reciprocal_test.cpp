// quotient_by_reciprocal() is the rounded quotient: significands of 11 bits over significands of 24
// bits; and quotient_by_parts() rounds to the same code. Exponents do not matter, for every
// operation rounds by significands alone.
//
// By default every 64th divisor, from a random one on; QSIM_TEST_EVERY=1 takes all 2^33 pairs.
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "golden/kernels/convert/scale_rule.h"

namespace qsim::golden {
namespace {

std::uint32_t number_of(const char* name, std::uint32_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// The numbers of 11 bits whose quotient by `divisor` is not the rounded one.
int wrong_quotients(float divisor) {
  const float reciprocal = 1 / divisor;
  int wrong = 0;
  for (int x = 1024; x < 2048; ++x) {
    const auto number = static_cast<float>(x);
    wrong += quotient_by_reciprocal(number, divisor, reciprocal) != number / divisor ? 1 : 0;
  }
  return wrong;
}

TEST(Reciprocal, GivesTheRoundedQuotientOfElevenBits) {
  const std::uint32_t every = number_of("QSIM_TEST_EVERY", 64);
  const std::uint32_t seed = number_of("QSIM_TEST_SEED", 1);
  std::printf("seed %u\n", seed);
  const auto first = static_cast<std::uint32_t>(Random(seed).uniform(0, every - 1));
  for (std::uint32_t fraction = first; fraction < 1U << 23; fraction += every) {
    ASSERT_EQ(wrong_quotients(float_of(0x3F800000 + fraction)), 0) << std::hex << fraction;
  }
}

// The numbers of 11 bits about `border` times `divisor`, whose quotient by parts is not on the side
// of the border where the rounded quotient is.
int wrong_sides(float border, float divisor, SplitReciprocal reciprocal) {
  const double product = static_cast<double>(border) * static_cast<double>(divisor);
  const double unit = std::ldexp(1.0, std::ilogb(product) - 10);
  int wrong = 0;
  for (int step = -1; step <= 1; ++step) {
    const auto x = static_cast<float>((std::nearbyint(product / unit) + step) * unit);
    const float rounded = x / divisor;
    const float by_parts = quotient_by_parts(x, reciprocal);
    wrong += (rounded < border) != (by_parts < border) || (rounded > border) != (by_parts > border);
  }
  return wrong;
}

TEST(Reciprocal, ByPartsIsOnTheRoundedQuotientsSideOfEachNumberOfNineBits) {
  const std::uint32_t every = number_of("QSIM_TEST_EVERY", 64) * 16;
  const std::uint32_t seed = number_of("QSIM_TEST_SEED", 1);
  std::printf("seed %u\n", seed);
  const auto first = static_cast<std::uint32_t>(Random(seed).uniform(0, every - 1));
  const auto check = [](std::uint32_t fraction) {
    const float divisor = float_of(0x3F800000 + fraction);
    const SplitReciprocal reciprocal = split_reciprocal(divisor);
    ASSERT_GE(reciprocal.low, 0) << std::hex << fraction;
    for (int border = 256; border < 512; ++border) {
      ASSERT_EQ(wrong_sides(static_cast<float>(border), divisor, reciprocal), 0)
          << std::hex << fraction << " " << border;
    }
  };
  for (std::uint32_t fraction = first; fraction < 1U << 23; fraction += every) check(fraction);
  // The one that a product with the rounded-down part would miss, and its neighbours.
  for (std::uint32_t fraction = (1U << 23) - 64; fraction < 1U << 23; ++fraction) check(fraction);
}

TEST(Reciprocal, KeepsTheSignOfAZeroAndRoundsAsTheDefinition) {
  for (const float scale : {1.0F, 3.0F, 0.1F, 0x1p-40F}) {
    const float reciprocal = 1 / scale;
    EXPECT_TRUE(std::signbit(quotient_by_reciprocal(-0.0F, scale, reciprocal)));
    EXPECT_FALSE(std::signbit(quotient_by_reciprocal(0.0F, scale, reciprocal)));
    EXPECT_TRUE(std::signbit(quotient_by_parts(-0.0F, split_reciprocal(scale))));
    EXPECT_FALSE(std::signbit(quotient_by_parts(0.0F, split_reciprocal(scale))));
    Random random(7);
    for (int i = 0; i < 1000; ++i) {
      const float x = float_from_half(static_cast<std::uint16_t>(random.uniform(0, 0x7BFF)));
      EXPECT_EQ(quotient_by_reciprocal(x, scale, reciprocal), x / scale) << x << " " << scale;
    }
  }
}

}  // namespace
}  // namespace qsim::golden
