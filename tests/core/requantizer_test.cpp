// Compares core/numerics/requantizer.h with an oracle of wide integers, and its float32 rounding
// with the processor's own float32 arithmetic.
#include "core/numerics/requantizer.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/core/requantizer_oracle.h"

namespace qsim {
namespace {

using test::kRequantizerRoundingList;
using test::near_tie;
using test::oracle_product;
using test::random_psum;
using test::random_requantizer;
using test::text_of;
using test::Wide;

// The processor's arithmetic as ONNX Runtime uses it. Each step is stored as a float32.
static_assert(FLT_EVAL_METHOD == 0);
double processor_level(std::int32_t t, float scale) {
  volatile float converted = static_cast<float>(t);
  volatile float product = converted * scale;
  return std::nearbyint(product);
}

TEST(Requantizer, EqualsTheOracleForSmallPsumsAndEveryShift) {
  Random random(3);
  for (int shift = 0; shift <= kMostRequantizerShift; ++shift) {
    for (const RequantizerRounding rounding : kRequantizerRoundingList) {
      for (int i = 0; i < 4; ++i) {
        const Requantizer r{test::random_multiplier(random), shift, rounding};
        for (std::int64_t t = -600; t <= 600; ++t) {
          ASSERT_EQ(rounded_product(t, r), static_cast<std::int64_t>(oracle_product(t, r)))
              << text_of(t, r);
        }
      }
    }
  }
}

TEST(Requantizer, EqualsTheOracleOverTheFullRange) {
  const std::uint64_t seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 1500000; ++i) {
    const std::int32_t acc = random_psum(random);
    const std::int32_t bias = random_psum(random);
    const std::int64_t t = std::int64_t{acc} + bias;
    const Requantizer r =
        random.chance(0.5) && t != 0 ? near_tie(random, t) : random_requantizer(random);
    const std::int32_t type_min = random.chance(0.5) ? 0 : -128;
    const auto zero_point = static_cast<std::int32_t>(random.uniform(type_min, type_min + 255));
    const auto lo = static_cast<std::int32_t>(random.uniform(type_min, type_min + 255));
    const auto hi = static_cast<std::int32_t>(random.uniform(lo, type_min + 255));
    const Wide level = oracle_product(t, r);
    ASSERT_EQ(rounded_product(t, r), static_cast<std::int64_t>(level)) << text_of(t, r);
    ASSERT_EQ(requantize(acc, bias, r, zero_point, lo, hi),
              static_cast<std::int32_t>(std::min<Wide>(std::max<Wide>(level + zero_point, lo), hi)))
        << text_of(t, r) << " zero_point " << zero_point << " lo " << lo << " hi " << hi;
  }
}

TEST(Requantizer, EqualsTheOracleAtTheEndsOfEveryRange) {
  for (int shift = 0; shift <= kMostRequantizerShift; ++shift) {
    for (const std::uint32_t multiplier :
         {kLeastMultiplier, kLeastMultiplier + 1, kMostMultiplier}) {
      for (const RequantizerRounding rounding : kRequantizerRoundingList) {
        const Requantizer r{multiplier, shift, rounding};
        for (int bits = 0; bits <= 32; ++bits) {
          for (std::int64_t near = -3; near <= 3; ++near) {
            for (const std::int64_t sign : {-1, 1}) {
              const std::int64_t t = sign * ((std::int64_t{1} << bits) + near);
              if (t < -(std::int64_t{1} << 32) || t > (std::int64_t{1} << 32) - 2) continue;
              ASSERT_EQ(rounded_product(t, r), static_cast<std::int64_t>(oracle_product(t, r)))
                  << text_of(t, r);
            }
          }
        }
      }
    }
  }
}

// Every int32 psum, rounded by the processor that runs the test.
TEST(Requantizer, Float32EqualsTheProcessorsArithmetic) {
  const std::uint64_t seed = 5;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int once_differs = 0;
  for (int i = 0; i < 3000000; ++i) {
    const std::int32_t t = random_psum(random);
    Requantizer r = t != 0 && random.chance(0.7) ? near_tie(random, t) : random_requantizer(random);
    r.rounding = RequantizerRounding::kFloat32;
    ASSERT_EQ(static_cast<double>(rounded_product(t, r)), processor_level(t, real_scale(r)))
        << text_of(t, r);
    Requantizer once = r;
    once.rounding = RequantizerRounding::kHalfEven;
    once_differs +=
        rounded_product(t, once) != rounded_product(t, r) && std::abs(rounded_product(t, r)) <= 256;
  }
  // Otherwise the draws do not tell one rounding from three.
  EXPECT_GT(once_differs, 10000);
  RecordProperty("once_differs", once_differs);
}

// Subnormal scales and those whose products overflow float32 included.
TEST(Requantizer, AnyPositiveFloat32IsAScaleAndGivesTheProcessorsLevels) {
  const std::uint64_t seed = 6;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 2000000; ++i) {
    const float scale =
        std::bit_cast<float>(static_cast<std::uint32_t>(random.uniform(1, 0x7F7F'FFFF)));
    const std::int32_t t = random_psum(random);
    const Requantizer r = requantizer_of(*Scale::of(scale), RequantizerRounding::kFloat32);
    const double level = processor_level(t, scale);
    for (const std::int32_t zero_point : {-128, 0, 127, 255}) {
      const std::int32_t lo = zero_point == 255 ? 0 : -128;
      ASSERT_EQ(requantize(t, 0, r, zero_point, lo, lo + 255),
                std::min<double>(std::max<double>(level + zero_point, lo), lo + 255))
          << "t " << t << " scale " << scale;
    }
  }
}

// A scale beyond the ends gives the levels of the end, with exact products too.
TEST(Requantizer, AScaleBeyondTheEndsGivesTheSameLevels) {
  Random random(7);
  for (int i = 0; i < 300000; ++i) {
    const bool small = random.chance(0.5);
    const float scale =
        std::ldexp(static_cast<float>(test::random_multiplier(random)),
                   static_cast<int>(small ? -random.uniform(64, 90) : random.uniform(1, 40)));
    const std::int64_t t = std::int64_t{random_psum(random)} + random_psum(random);
    int exponent = 0;
    const auto multiplier = static_cast<std::int64_t>(std::frexp(scale, &exponent) * 0x1.0p24F);
    for (const RoundingMode mode :
         {RoundingMode::kFloor, RoundingMode::kHalfEven, RoundingMode::kHalfUp}) {
      const Wide exact = small ? test::oracle_divide(Wide{t} * multiplier, 24 - exponent, mode)
                               : Wide{t} * multiplier * test::power_of_two(exponent - 24);
      const Requantizer r =
          requantizer_of(*Scale::of(scale), static_cast<RequantizerRounding>(mode));
      const auto most = [](Wide v) { return std::min<Wide>(std::max<Wide>(v, -511), 511); };
      ASSERT_EQ(static_cast<int>(most(rounded_product(t, r))), static_cast<int>(most(exact)))
          << text_of(t, r) << " scale " << scale;
    }
  }
}

TEST(Requantizer, AScaleWithinTheEndsIsKeptExactly) {
  Random random(8);
  for (int i = 0; i < 300000; ++i) {
    const Requantizer r = random_requantizer(random);
    const float scale = real_scale(r);
    ASSERT_EQ(scale, std::ldexp(static_cast<float>(r.multiplier), -r.shift)) << text_of(0, r);
    ASSERT_EQ(requantizer_of(*Scale::of(scale), r.rounding), r) << scale;
  }
}

TEST(Requantizer, APowerOfTwoIsTheShift) {
  Random random(9);
  for (int i = 0; i < 500000; ++i) {
    const std::int32_t acc = random_psum(random);
    const std::int32_t bias = random_psum(random);
    const auto shift = static_cast<int>(random.uniform(0, kMaxShift));
    for (const RoundingMode mode :
         {RoundingMode::kFloor, RoundingMode::kHalfEven, RoundingMode::kHalfUp}) {
      const Requantizer r = requantizer_of_shift(shift, static_cast<RequantizerRounding>(mode));
      ASSERT_EQ(real_scale(r), std::ldexp(1.0F, -shift));
      ASSERT_EQ(requantize(acc, bias, r, 3, -128, 127),
                requantize(acc, bias, shift, mode, 3, -128, 127))
          << text_of(std::int64_t{acc} + bias, r);
    }
  }
}

// docs/reference/numerics.md: the widths, at psums and multipliers that reach them.
TEST(Requantizer, TheWidthsOfTheContractAreReached) {
  constexpr std::int64_t kLeastT = 2 * std::int64_t{INT32_MIN};
  constexpr Wide kLeastProduct = Wide{kLeastT} * kMostMultiplier;
  EXPECT_LT(kLeastProduct, -test::power_of_two(55));
  EXPECT_GT(kLeastProduct, -test::power_of_two(56));
  const std::int64_t addend =
      rounding_addend(std::int64_t{1} << 55, kMostRequantizerShift, RoundingMode::kHalfUp);
  EXPECT_EQ(addend, std::int64_t{1} << 62);
  const Requantizer largest{kMostMultiplier, 0, RequantizerRounding::kFloat32};
  EXPECT_EQ(rounded_product(kLeastT, largest), static_cast<std::int64_t>(kLeastProduct));
  // Rounding to float32 may carry into one more bit, never to 2^56 + 1.
  EXPECT_EQ(nearest_float32((std::int64_t{1} << 56) - 1), std::int64_t{1} << 56);
}

TEST(Requantizer, NeverFallsWhenThePsumRises) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 500000; ++i) {
    const std::int32_t a = random_psum(random);
    const auto b = static_cast<std::int32_t>(
        std::min<std::int64_t>(INT32_MAX, std::int64_t{a} + random.uniform(0, 70000)));
    const std::int32_t bias = random_psum(random);
    const Requantizer r = a != 0 ? near_tie(random, a) : random_requantizer(random);
    ASSERT_LE(requantize(a, bias, r, 3, -128, 127), requantize(b, bias, r, 3, -128, 127))
        << text_of(a, r) << " and " << b << ", bias " << bias;
    ASSERT_LE(requantize(a, 0, r, 3, -128, 127), requantize(b, 0, r, 3, -128, 127));
  }
}

// One rounding and float32's three differ by a level at most, and only where the exact product is
// within 2^-24 of a tie, relative to its size.
TEST(Requantizer, HalfEvenAndFloat32DifferByOneNearTiesAlone) {
  const std::uint64_t seed = 12;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int different = 0;
  for (int i = 0; i < 1000000; ++i) {
    const std::int64_t t = random_psum(random);
    if (t == 0) continue;
    Requantizer r = near_tie(random, t);
    r.rounding = RequantizerRounding::kFloat32;
    const std::int64_t three = rounded_product(t, r);
    r.rounding = RequantizerRounding::kHalfEven;
    const std::int64_t one = rounded_product(t, r);
    if (one == three || std::abs(one) > 256) continue;
    ++different;
    ASSERT_EQ(std::abs(one - three), 1) << text_of(t, r);
    const Wide product = Wide{t} * r.multiplier;
    const Wide tie = Wide{one + three} * test::power_of_two(r.shift) / 2;
    const Wide distance = product < tie ? tie - product : product - tie;
    const Wide size = product < 0 ? -product : product;
    // Two roundings by 2^-24 of the size each; the second one's size is within 2^-24 of the
    // first's.
    ASSERT_LE(distance * test::power_of_two(23), size + 1) << text_of(t, r);
  }
  EXPECT_GT(different, 1000);
}

TEST(Requantizer, CarriesUint8AsInt8WithoutChangingTheResult) {
  Random random(13);
  for (int i = 0; i < 300000; ++i) {
    const std::int32_t acc = random_psum(random);
    const Requantizer r = acc != 0 ? near_tie(random, acc) : random_requantizer(random);
    const auto zero_point = static_cast<std::int32_t>(random.uniform(0, 255));
    const auto lo = static_cast<std::int32_t>(random.uniform(0, 255));
    const auto hi = static_cast<std::int32_t>(random.uniform(lo, 255));
    ASSERT_EQ(
        requantize(acc, 0, r, zero_point, lo, hi) - 128,
        requantize(acc, 0, r, carried(zero_point, true), carried(lo, true), carried(hi, true)))
        << text_of(acc, r);
  }
}

}  // namespace
}  // namespace qsim
