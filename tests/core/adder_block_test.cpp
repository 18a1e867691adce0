// The adder block: its bits by hand, writing and reading of random adders, and the arithmetic of
// every bit pattern.
#include "core/machine/isa/adder_block.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/requantizer_oracle.h"

namespace qsim {
namespace {

using test::oracle_divide;
using test::oracle_float32;
using test::Wide;

using Block = std::array<std::byte, 16>;

Block block_of(const std::array<int, 16>& bytes) {
  Block block;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(bytes[i]);
  return block;
}

TEST(AdderBlock, HasTheBitsOfTheCommandReference) {
  // Ratios 1 = 2^23 << 16 and 2^-16 = 2^23 << 0 units; the constant -2.
  const PsumAdder adder{{std::int64_t{1} << 39, std::int64_t{1} << 23, -2}, true, false};
  Block block{};
  write_adder(block, adder);
  EXPECT_EQ(block, block_of({0, 0, 0x80, 0x90, 0, 0, 0x80, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff,
                             0xff, 0xff}));
  EXPECT_EQ(read_adder(block, RequantizerRounding::kFloat32), adder);
}

TEST(AdderBlock, ReadsBackEveryAdder) {
  constexpr std::uint64_t kSeed = 41;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  int adders = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto side = [&] {
      const int exponent = static_cast<int>(random.uniform(-30, 0));
      const float real =
          std::ldexp(static_cast<float>(test::random_multiplier(random)), exponent - 15);
      return LevelScale{*Scale::of(real), static_cast<std::int32_t>(random.uniform(-128, 255))};
    };
    const auto rounding = static_cast<RequantizerRounding>(random.uniform(0, 3));
    const auto adder = adder_of(side(), side(), side(), rounding);
    if (!adder) continue;
    ++adders;
    const PsumAdder written{*adder, random.chance(0.5), random.chance(0.5)};
    Block block{};
    write_adder(block, written);
    ASSERT_EQ(read_adder(block, rounding), written);
  }
  EXPECT_GT(adders, 4000);
}

TEST(AdderBlock, IgnoresUnusedBitsAndTakesLargeShiftsAsSmallerOnes) {
  const auto read = [](const Block& block) {
    return read_adder(block, RequantizerRounding::kFloor);
  };
  Block block = block_of({1, 0, 0, 0x07, 2, 0, 0, 0x17, 0, 0, 0, 0, 0, 0, 0, 2});
  EXPECT_EQ(read(block).adder.a_ratio, 1 << 7);
  EXPECT_EQ(read(block).adder.b_ratio, 2 << 23);
  EXPECT_EQ(read(block).adder.fixed, -(std::int64_t{1} << 57));  // bit 57 is the sign
  const PsumAdder plain = read(block);
  block[3] |= std::byte{0x60};
  block[15] |= std::byte{0xfc};
  EXPECT_EQ(read(block), plain);
  for (int shift = 24; shift < 32; ++shift) {
    block[3] = static_cast<std::byte>(shift);
    EXPECT_EQ(read(block).adder.a_ratio, std::int64_t{1} << (shift - 8)) << shift;
  }
}

TEST(AdderBlock, RefusesWhatNoAdderHas) {
  Block block{};
  const auto with = [](std::int64_t a_ratio, std::int64_t fixed) {
    return PsumAdder{{a_ratio, 1, fixed}};
  };
  EXPECT_THROW(write_adder(block, with((1 << 24) + 1, 0)), InternalError);
  EXPECT_THROW(write_adder(block, with(std::int64_t{1} << 47, 0)), InternalError);
  EXPECT_THROW(write_adder(block, with(1, std::int64_t{1} << 57)), InternalError);
  EXPECT_NO_THROW(write_adder(block, with(1, -(std::int64_t{1} << 57))));
}

TEST(AdderBlock, PsumsCarryLevelsInTheirLowByte) {
  EXPECT_EQ(level_of_psum(-128, false), -128);
  EXPECT_EQ(level_of_psum(-128, true), 0);
  EXPECT_EQ(level_of_psum(127, true), 255);
  EXPECT_EQ(level_of_psum(0x12345680, false), -128);
}

// The formula of the command reference in wide integers, for any bits.
Wide oracle_level(std::int32_t a, std::int32_t b, const PsumAdder& adder, std::int32_t zero_point) {
  const Wide a_part = Wide{level_of_psum(a, adder.a_is_unsigned)} * adder.adder.a_ratio;
  const Wide b_part =
      Wide{level_of_psum(b, adder.b_is_unsigned)} * adder.adder.b_ratio + adder.adder.fixed;
  if (adder.adder.rounding == RequantizerRounding::kFloat32) {
    const Wide sum = oracle_float32(a_part + oracle_float32(b_part));
    return oracle_divide(sum, 39, RoundingMode::kHalfEven) + zero_point;
  }
  return oracle_divide(a_part + b_part, 39, static_cast<RoundingMode>(adder.adder.rounding)) +
         zero_point;
}

TEST(AdderBlock, EveryBitPatternHasTheLevelOfTheFormula) {
  constexpr std::uint64_t kSeed = 42;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  int inside = 0;
  for (int i = 0; i < 200'000; ++i) {
    Block block;
    for (std::byte& byte : block) byte = static_cast<std::byte>(random.next());
    if (random.chance(0.7)) {  // small enough for levels between the ends
      for (const std::size_t word : {3u, 7u}) block[word] &= std::byte{0x8f};
      block[15] = std::byte{0};
      block[14] = std::byte{0};
      block[13] &= std::byte{0x3f};
    }
    const auto adder = read_adder(block, static_cast<RequantizerRounding>(random.uniform(0, 3)));
    const auto a = static_cast<std::int32_t>(random.next());
    const auto b = static_cast<std::int32_t>(random.next());
    const auto zero_point = static_cast<std::int32_t>(random.uniform(-128, 127));
    const auto lo = static_cast<std::int32_t>(random.uniform(-128, 0));
    const auto hi = static_cast<std::int32_t>(random.uniform(0, 127));
    const Wide level = oracle_level(a, b, adder, zero_point);
    const Wide expected = level < lo ? lo : (level > hi ? hi : level);
    ASSERT_EQ(add_psums(a, b, adder, zero_point, lo, hi), static_cast<std::int32_t>(expected))
        << "i " << i;
    inside += expected == level ? 1 : 0;
  }
  EXPECT_GT(inside, 20'000);
}

TEST(AdderBlock, TheCarriedSumOfAFloat32AdditionHasItsZeroPointInTheConstant) {
  EXPECT_EQ(sum_zero_point(RequantizerRounding::kFloat32, 77, true), -128);
  EXPECT_EQ(sum_zero_point(RequantizerRounding::kFloat32, 77, false), 0);
  EXPECT_EQ(sum_zero_point(RequantizerRounding::kHalfEven, 77, true), -51);
  EXPECT_EQ(sum_zero_point(RequantizerRounding::kHalfEven, 77, false), 77);
}

}  // namespace
}  // namespace qsim
