// The bytes of a channel's parameters, of both requantizers: the documented bits, and what is read
// of bits that mean nothing.
#include "core/machine/isa/parameter_block.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/random.h"

namespace qsim {
namespace {

ArchConfig arch_with(RequantizerKind requantizer) {
  ArchConfig arch;
  arch.array_cols = 4;
  arch.requantizer = requantizer;
  return arch;
}

std::vector<std::byte> bytes_of(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ParameterBlock, AShiftingMachineHasBiasesAndThenShifts) {
  const ArchConfig arch = arch_with(RequantizerKind::kShift);
  ASSERT_EQ(arch.param_block_bytes(), 20);
  std::vector<std::byte> block(20);
  write_channel(block, arch, 2, {-2, requantizer_of_shift(31, RequantizerRounding::kHalfUp)});
  EXPECT_EQ(block, bytes_of({0, 0, 0,  0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0,  //
                             0, 0, 31, 0}));
}

TEST(ParameterBlock, ADyadicMachineHasEightBytesAChannel) {
  const ArchConfig arch = arch_with(RequantizerKind::kDyadic);
  ASSERT_EQ(arch.param_block_bytes(), 32);
  std::vector<std::byte> block(32);
  write_channel(block, arch, 1, {0x12345678, {0xabcdef, 33, RequantizerRounding::kFloat32}});
  EXPECT_EQ(std::vector(block.begin() + 8, block.begin() + 16),
            bytes_of({0x78, 0x56, 0x34, 0x12, 0xef, 0xcd, 0xab, 33}));
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i / 8 == 1) continue;
    EXPECT_EQ(block[i], std::byte{0}) << i;
  }
}

TEST(ParameterBlock, WhatIsWrittenIsRead) {
  Random random(5);
  for (const RequantizerKind kind : {RequantizerKind::kShift, RequantizerKind::kDyadic}) {
    const ArchConfig arch = arch_with(kind);
    std::vector<std::byte> block(static_cast<std::size_t>(arch.param_block_bytes()));
    for (int i = 0; i < 1000; ++i) {
      ChannelParameters parameters;
      parameters.bias = static_cast<std::int32_t>(random.next());
      parameters.requantizer = requantizer_of_shift(static_cast<int>(random.uniform(0, 31)),
                                                    RequantizerRounding::kFloor);
      if (arch.is_dyadic()) {
        parameters.requantizer = {static_cast<std::uint32_t>(random.next()) & kMostMultiplier,
                                  static_cast<int>(random.uniform(0, 63)),
                                  RequantizerRounding::kFloat32};
      }
      const std::int64_t column = random.uniform(0, 3);
      write_channel(block, arch, column, parameters);
      EXPECT_EQ(read_channel(block, arch, column, parameters.requantizer.rounding), parameters);
    }
  }
}

TEST(ParameterBlock, BitsWithoutAMeaningAreIgnored) {
  for (const RequantizerKind kind : {RequantizerKind::kShift, RequantizerKind::kDyadic}) {
    const ArchConfig arch = arch_with(kind);
    const std::vector<std::byte> ones(static_cast<std::size_t>(arch.param_block_bytes()),
                                      std::byte{0xff});
    const ChannelParameters read = read_channel(ones, arch, 3, RequantizerRounding::kHalfEven);
    EXPECT_EQ(read.bias, -1);
    if (arch.is_dyadic()) {
      EXPECT_EQ(read.requantizer,
                (Requantizer{kMostMultiplier, 63, RequantizerRounding::kHalfEven}));
    } else {
      EXPECT_EQ(read.requantizer, requantizer_of_shift(31, RequantizerRounding::kHalfEven));
    }
  }
}

TEST(ParameterBlock, AShiftingMachineTakesNoOtherScale) {
  const ArchConfig arch = arch_with(RequantizerKind::kShift);
  std::vector<std::byte> block(20);
  for (const Requantizer& requantizer :
       {Requantizer{kLeastMultiplier + 1, 23, RequantizerRounding::kHalfEven},
        Requantizer{kLeastMultiplier, 22, RequantizerRounding::kHalfEven},
        Requantizer{kLeastMultiplier, 55, RequantizerRounding::kHalfEven},
        Requantizer{kLeastMultiplier, 30, RequantizerRounding::kFloat32}}) {
    EXPECT_FALSE(as_shift(requantizer).has_value());
    EXPECT_THROW(write_channel(block, arch, 0, {0, requantizer}), InternalError);
  }
}

TEST(ParameterBlock, EachShiftIsThatOfItsRequantizer) {
  for (int shift = 0; shift <= kMaxShift; ++shift) {
    EXPECT_EQ(as_shift(requantizer_of_shift(shift, RequantizerRounding::kFloor)), shift);
  }
}

TEST(ParameterBlock, OnlyADyadicMachineRoundsAsFloat32) {
  const ArchConfig shift = arch_with(RequantizerKind::kShift);
  const ArchConfig dyadic = arch_with(RequantizerKind::kDyadic);
  for (std::uint32_t rounding = 0; rounding < 3; ++rounding) {
    EXPECT_EQ(rounding_fault(rounding, shift), "");
    EXPECT_EQ(rounding_fault(rounding, dyadic), "");
  }
  EXPECT_EQ(rounding_fault(3, dyadic), "");
  EXPECT_EQ(rounding_fault(3, shift),
            "rounding is 3 (float32), which needs requantizer: dyadic; allowed: 0 to 2");
}

}  // namespace
}  // namespace qsim
