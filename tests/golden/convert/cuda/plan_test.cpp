// What the GPU's kernels are told of a conversion: tiles, flat tensors, joined dimensions, sizes
// beyond 2^31. Needs no GPU.
#include "golden/kernels/convert/cuda/plan.h"

#include <gtest/gtest.h>

namespace qsim::golden::cuda {
namespace {

alignas(16) std::uint16_t halves[16];
alignas(16) std::uint8_t bytes[16];

QuantizePlan plan_of(Shape shape, const Quantization& how, Shape strides = {},
                     const std::uint16_t* data = halves) {
  DeviceQuantized out;
  out.how = how;
  out.values = bytes;
  return plan_quantize({ElementFormat::kHalf, data, std::move(shape), std::move(strides)}, out,
                       nullptr);
}

DecodePlan decode_plan_of(Shape shape, const Quantization& how, int chunk_elems = kChunk) {
  DeviceQuantized q;
  q.how = how;
  q.shape = std::move(shape);
  q.values = bytes;
  return plan_decode(q, chunk_elems, true, halves);
}

std::int64_t groups_in_tiles(const QuantizePlan& plan) {
  return plan.tiles * plan.params.groups_per_tile;
}

TEST(ConvertPlan, EachGroupSizeFillsATileWithWholeGroups) {
  for (std::int64_t group = 16; group <= 512; group += 16) {
    const QuantizePlan plan = plan_of({1000, 7 * group}, {.group = group});
    const QuantizeParams& p = plan.params;
    EXPECT_TRUE(plan.flat);
    EXPECT_EQ(p.chunks_per_group, group / 8);
    EXPECT_LE(p.groups_per_tile * p.chunks_per_group, kTileChunks);
    EXPECT_GT((p.groups_per_tile + 1) * p.chunks_per_group, kTileChunks);
    EXPECT_GE(groups_in_tiles(plan), 7000);
    EXPECT_LT(groups_in_tiles(plan) - p.groups_per_tile, 7000);
    for (std::uint32_t chunk = 0; chunk < kTileChunks; ++chunk) {
      EXPECT_EQ(chunk * p.group_magic >> 16,
                chunk / static_cast<std::uint32_t>(p.chunks_per_group));
    }
    // A power of two of lanes for each group, not more than there are.
    EXPECT_EQ(p.team & (p.team - 1), 0);
    EXPECT_TRUE(p.team == 1 || p.team * p.groups_per_tile <= 32);
  }
}

// Also groups of one chunk, which INT4 to FP8 has of 16 elements.
TEST(ConvertPlan, DecodingDividesChunksOfABlockExactly) {
  for (const int chunk_elems : {kChunk, 2 * kChunk}) {
    for (std::int64_t group = 16; group <= 512; group += 16) {
      const DecodePlan plan = decode_plan_of({50, 3 * group}, {.group = group}, chunk_elems);
      const DecodeParams& p = plan.params;
      ASSERT_TRUE(plan.flat);
      EXPECT_EQ(p.groups, 150);
      for (std::uint32_t chunk = 0; chunk < kDecodeThreads * kDecodeChunks; ++chunk) {
        EXPECT_EQ(chunk * p.group_magic >> 20,
                  chunk / static_cast<std::uint32_t>(p.chunks_per_group));
      }
    }
  }
}

TEST(ConvertPlan, WhatIsNotFullContiguousOrAlignedIsNotFlat) {
  const Quantization how{.group = 64};
  EXPECT_TRUE(plan_of({5, 128}, how).flat);
  EXPECT_FALSE(plan_of({5, 130}, how).flat);
  EXPECT_FALSE(plan_of({5, 128}, how, {256, 1}).flat);
  EXPECT_FALSE(plan_of({5, 128}, how, {128, 1}, halves + 1).flat);
  EXPECT_FALSE(plan_of({5, 128}, {.group = 64, .clip_percentile = 990000}).flat);
  EXPECT_FALSE(plan_of({5, 128}, {.group = 64, .stochastic = true}).flat);
  EXPECT_TRUE(decode_plan_of({5, 128}, how).flat);
  EXPECT_FALSE(decode_plan_of({5, 130}, how).flat);
  EXPECT_FALSE(decode_plan_of({5, 128}, {.group = 64, .order = ScaleOrder::kColumnMajor}).flat);
}

TEST(ConvertPlan, DimensionsThatFollowEachOtherJoin) {
  EXPECT_EQ(plan_of({2, 3, 4, 16}, {.group = 16}).params.rows.dims, 1);
  EXPECT_TRUE(plan_of({2, 3, 4, 16}, {.group = 16}).flat);
  const QuantizePlan transposed = plan_of({2, 3, 16}, {.group = 16}, {16, 32, 1});
  EXPECT_EQ(transposed.params.rows.dims, 2);
  EXPECT_FALSE(transposed.flat);
}

TEST(ConvertPlan, MoreDimensionsThanTheKernelsHaveAreRefused) {
  // Two elements in each of 62 dimensions is as much as element_count() has; an extent of 0 makes
  // room for more.
  Shape shape(66, 2);
  shape[0] = 0;
  const Shape apart(66, 3);  // dimensions that do not join
  try {
    plan_of(shape, {.group = 16}, apart);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "convert: a tensor of 66 dimensions that do not join; allowed on a GPU: 64");
  }
}

TEST(ConvertPlan, LongGroupsTakeSeveralPassesAndAWorkspace) {
  EXPECT_FALSE(plan_of({4, 512}, {.group = kPerToken}).long_groups);
  EXPECT_TRUE(plan_of({4, 513}, {.group = kPerToken}).long_groups);
  EXPECT_TRUE(plan_of({4, 16}, {.group = kPerTensor}).long_groups);
  EXPECT_EQ(quantize_workspace_bytes({4, 512}, {.group = 128}), 0U);
  EXPECT_EQ(quantize_workspace_bytes({4, 512}, preset("nvfp4")), sizeof(Workspace));
  EXPECT_EQ(quantize_workspace_bytes({4, 1024}, {.group = kPerToken}), sizeof(Workspace) + 4 * 8);
  const QuantizePlan empty = plan_of({0, 16}, {.group = kPerTensor});
  EXPECT_EQ(empty.tiles, 0);
  EXPECT_EQ(empty.params.groups, 1);
}

TEST(ConvertPlan, FlatRowsThatABlockHoldsAndFlatTensorsHaveKernelsOfTheirOwn) {
  EXPECT_TRUE(plan_of({4, 65536}, {.group = kPerToken}).flat);
  EXPECT_FALSE(plan_of({4, 65544}, {.group = kPerToken}).flat);
  EXPECT_FALSE(plan_of({4, 4100}, {.group = kPerToken}).flat);
  EXPECT_TRUE(plan_of({4, 65544}, {.group = kPerTensor}).flat);
  EXPECT_FALSE(plan_of({4, 65544}, {.group = kPerTensor, .stochastic = true}).flat);
  // Three chunks of a group are not whole words of extents.
  EXPECT_FALSE(plan_of({4, 24}, {.group = kPerToken}).flat);
  EXPECT_TRUE(plan_of({4, 32}, {.group = kPerToken}).flat);
}

// 2^33 elements: counts and places that 32 bits do not have.
TEST(ConvertPlan, SizesBeyond32BitsAreCounted) {
  const std::int64_t rows = std::int64_t{1} << 21;
  const QuantizePlan plan = plan_of({rows, 4096}, {.group = 16});
  EXPECT_EQ(plan.params.groups, rows * 256);
  EXPECT_EQ(groups_in_tiles(plan), rows * 256);
  const DecodePlan decode = decode_plan_of({rows, 4101}, {.format = ElementFormat::kInt4});
  EXPECT_EQ(decode.params.layout.row_bytes, 2051);
  EXPECT_EQ(decode.chunks, rows * 513);
  EXPECT_EQ(decode.tiles, rows * 513 / (kDecodeThreads * kDecodeChunks));
  EXPECT_EQ(decode.params.layout.scale_index(rows - 1, 32), rows * 33 - 1);
}

}  // namespace
}  // namespace qsim::golden::cuda
