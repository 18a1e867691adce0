// POST of the SystemC engine, every vector path and both requantizers, against the pseudo-code as
// plain loops.
#include "sim/systemc/datapath/post_kernel.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "core/machine/isa/adder_block.h"
#include "core/machine/isa/parameter_block.h"
#include "tests/sim/systemc/kernel_cases.h"

namespace qsim {

using namespace sim;
namespace {

void post_random_commands(RequantizerKind requantizer) {
  std::set<std::int8_t> values;
  for_each_case(16, [&](VectorPath path, const ArchConfig& shifting, std::uint64_t seed) {
    ArchConfig arch = shifting;
    arch.requantizer = requantizer;
    Random random(seed * 104729 + static_cast<std::uint64_t>(arch.array_rows + arch.array_cols));
    ReferenceMachine reference(arch);
    reference.fill(random);
    Scratchpads scratchpads = copy_of(reference);
    for (int i = 0; i < 4; ++i) {
      const Post post = random_post(random, arch);
      reference.post(post);
      post_tile(post, arch, path, scratchpads);
      values.insert(reference.outputs[static_cast<std::size_t>(post.out_addr * arch.array_cols)]);
    }
    expect_same(reference, scratchpads);
  });
  EXPECT_GE(values.size(), 100u);  // the comparison is not one of clamped values only
}

TEST(PostKernel, EveryVectorPathPostsRandomCommandsAsThePseudoCodeDoes) {
  post_random_commands(RequantizerKind::kShift);
}

TEST(PostKernel, EveryVectorPathPostsWithAnyScaleAsThePseudoCodeDoes) {
  post_random_commands(RequantizerKind::kDyadic);
}

// Ratios and constants of which many sums are ties, or a unit beside one.
PsumAdder random_adder(Random& random) {
  const auto ratio = [&] {
    const std::int64_t multiplier = random.chance(0.5) ? std::int64_t{1} << random.uniform(20, 23)
                                                       : random.uniform(1 << 22, kMostMultiplier);
    return multiplier << random.uniform(12, 18);
  };
  const std::int64_t fixed = random.uniform(-400, 400) * (std::int64_t{1} << 38);
  return {
      {ratio(), ratio(), fixed + random.uniform(-1, 1)}, random.chance(0.5), random.chance(0.5)};
}

TEST(PostKernel, EveryVectorPathAddsAndLooksUpAsThePseudoCodeDoes) {
  std::set<std::int8_t> sums;
  for_each_case(24, [&](VectorPath path, const ArchConfig& shifting, std::uint64_t seed) {
    ArchConfig arch = shifting;
    arch.requantizer = RequantizerKind::kDyadic;
    Random random(seed * 7919 + static_cast<std::uint64_t>(arch.array_rows + arch.array_cols));
    ReferenceMachine reference(arch);
    reference.fill(random);
    const auto slots = std::as_writable_bytes(std::span(reference.parameters));
    for (std::size_t slot = 0; slot < 2 && random.chance(0.9); ++slot) {
      write_adder(slots.subspan(slot * static_cast<std::size_t>(arch.param_block_bytes())),
                  random_adder(random));
    }
    Scratchpads scratchpads = copy_of(reference);
    for (int i = 0; i < 6; ++i) {
      Post post = random_post(random, arch);
      if (post.add == 0) continue;
      if (random.chance(0.5)) {
        post.lo = -128;
        post.hi = 127;
      }
      reference.post(post);
      post_tile(post, arch, path, scratchpads);
      if (post.lookup != 0) continue;
      sums.insert(reference.outputs[static_cast<std::size_t>(post.out_addr * arch.array_cols)]);
    }
    expect_same(reference, scratchpads);
  });
  EXPECT_GE(sums.size(), 100u);
}

// Each psum is the one nearest to a tie between two levels of its column's scale, or beside it.
TEST(PostKernel, LevelsBesideATieRoundAsTheRequantizerSaysForEveryShift) {
  for_each_case(1, [](VectorPath path, const ArchConfig& shifting, std::uint64_t seed) {
    ArchConfig arch = shifting;
    arch.requantizer = RequantizerKind::kDyadic;
    Random random(seed + static_cast<std::uint64_t>(arch.array_cols));
    for (int shift = 17; shift <= 54; ++shift) {
      ReferenceMachine reference(arch);
      const auto block = std::as_writable_bytes(std::span(reference.parameters));
      std::vector<std::uint32_t> multipliers;
      for (std::int64_t c = 0; c < arch.array_cols; ++c) {
        const auto low = static_cast<std::uint32_t>(random.next()) & (kLeastMultiplier - 1);
        multipliers.push_back(kLeastMultiplier + (c % 3 == 0 ? 0 : low));
        write_channel(block, arch, c, {0, {multipliers.back(), shift}});
      }
      for (std::size_t i = 0; i < reference.psums[0].size(); ++i) {
        const double tie = std::ldexp(static_cast<double>(random.uniform(-200, 200)) + 0.5, shift);
        const double psum = tie / multipliers[i % multipliers.size()];
        const auto beside = static_cast<double>(random.uniform(-1, 1));
        reference.psums[0][i] = static_cast<std::int32_t>(
            std::clamp<double>(std::round(psum) + beside, INT32_MIN, INT32_MAX));
      }
      Scratchpads scratchpads = copy_of(reference);
      Post post;
      post.in_rows = post.out_rows = 1;
      post.in_cols = post.out_cols = 16;
      post.pool_h = post.pool_w = post.pool_stride_h = post.pool_stride_w = 1;
      post.lo = -128;
      post.hi = 127;
      for (post.rounding = 0; post.rounding < 4; ++post.rounding) {
        post.out_addr = 16 * post.rounding;
        reference.post(post);
        post_tile(post, arch, path, scratchpads);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(reference, scratchpads)) << "shift " << shift;
    }
  });
}

// Random psums hardly ever lie half-way between two results; these all do, or one beside it.
TEST(PostKernel, HalvesRoundAsTheModeSaysForEveryShift) {
  for_each_case(1, [](VectorPath path, const ArchConfig& arch, std::uint64_t) {
    for (int shift = 0; shift <= 31; ++shift) {
      ReferenceMachine reference(arch);
      std::fill(reference.parameters.begin(), reference.parameters.end(), std::int8_t{0});
      const std::int64_t columns = arch.array_cols;
      for (std::int64_t c = 0; c < columns; ++c) {
        reference.parameters[static_cast<std::size_t>(4 * columns + c)] =
            static_cast<std::int8_t>(shift);
      }
      const std::int64_t half = shift == 0 ? 1 : std::int64_t{1} << (shift - 1);
      for (std::size_t i = 0; i < reference.psums[0].size(); ++i) {
        const auto multiple = static_cast<std::int64_t>(i % 11) - 5;
        const auto beside = static_cast<std::int64_t>(i / 11 % 3) - 1;
        reference.psums[0][i] = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(multiple * half + beside, INT32_MIN, INT32_MAX));
      }
      Scratchpads scratchpads = copy_of(reference);
      Post post;
      post.in_rows = post.out_rows = 1;
      post.in_cols = post.out_cols = 16;
      post.pool_h = post.pool_w = post.pool_stride_h = post.pool_stride_w = 1;
      post.lo = -128;
      post.hi = 127;
      for (post.rounding = 0; post.rounding < 3; ++post.rounding) {
        post.out_addr = 16 * post.rounding;
        reference.post(post);
        post_tile(post, arch, path, scratchpads);
      }
      expect_same(reference, scratchpads);
    }
  });
}

TEST(PostKernel, AShiftIsTheLowFiveBitsOfItsByte) {
  const ArchConfig arch = small_arch(4, 4);
  Random random(3);
  ReferenceMachine reference(arch);
  reference.fill(random);
  const Post post = random_post(random, arch);
  const std::int64_t shifts = post.param_slot * 5 * arch.array_cols + 4 * arch.array_cols;
  Scratchpads plain = copy_of(reference);
  for (std::int64_t c = 0; c < arch.array_cols; ++c) {
    std::int8_t& shift = reference.parameters[static_cast<std::size_t>(shifts + c)];
    plain.parameters(post.param_slot)[static_cast<std::size_t>(4 * arch.array_cols + c)] =
        static_cast<std::int8_t>(shift & 31);
    shift = static_cast<std::int8_t>(shift | 96);
  }
  Scratchpads wide = copy_of(reference);
  post_tile(post, arch, VectorPath::kPortable, plain);
  post_tile(post, arch, VectorPath::kPortable, wide);
  const std::int64_t words = post.out_rows * post.out_cols;
  const auto expected = plain.outputs(post.out_addr, words);
  EXPECT_TRUE(std::ranges::equal(wide.outputs(post.out_addr, words), expected));
}

}  // namespace
}  // namespace qsim
