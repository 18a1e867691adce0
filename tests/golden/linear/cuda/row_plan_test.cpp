// The plans of the CUDA kernels' shared memory, for each length of x.
#include <gtest/gtest.h>

#include "golden/linear/cuda/batch_plan.h"

namespace qsim::golden::cuda {
namespace {

// Calls `check` with plans of many lengths, both widths of weights and each group.
template <typename Check>
void for_each_plan(Check check) {
  for (const int bits : {8, 4}) {
    for (const int group_size : {0, 32, 64, 128}) {
      for (int in_features = 1; in_features <= 132104; in_features += in_features / 7 + 1) {
        SCOPED_TRACE(std::to_string(bits) + " bits, groups of " + std::to_string(group_size) +
                     ", K " + std::to_string(in_features));
        check(bits, group_size, plan_rows(bits, group_size, in_features, 0, kSharedOfWhole),
              in_features);
      }
    }
  }
}

TEST(RowPlan, TakesAtMostTheSharedMemoryOfABlockIfItHasAPipeline) {
  for_each_plan([](int, int, const RowPlan& plan, int) {
    EXPECT_LE(plan.stages, kRowMostStages);
    if (plan.stages >= 2) {
      EXPECT_LE(plan.shared_bytes, kSharedOfWhole);
    }
  });
}

TEST(RowPlan, LeavesRoomForTheNextKernelUpToEightThousandFeatures) {
  for (const int in_features : {32, 512, 1024, 4096, 8192}) {
    for (const int bits : {8, 4}) {
      const RowPlan plan = plan_rows(bits, 0, in_features, 0, kSharedOfWhole);
      EXPECT_LE(plan.shared_bytes, kSharedOfHalf) << in_features;
      EXPECT_GE(plan.stages, 3) << in_features;
    }
  }
}

TEST(RowPlan, HasAPipelineForTwentyEightThousandFeatures) {
  EXPECT_GE(plan_rows(8, 0, 28672, 0, kSharedOfWhole).stages, 2);
  EXPECT_GE(plan_rows(4, 0, 28672, 0, kSharedOfWhole).stages, 2);
  EXPECT_LT(plan_rows(8, 0, 132104, 0, kSharedOfWhole).stages, 2);  // the plain kernel has those
}

TEST(RowPlan, CoversEachInputFeatureAndKeepsPartsApart) {
  for_each_plan([](int bits, int group_size, const RowPlan& plan, int in_features) {
    EXPECT_GE(plan.padded_features, in_features);
    EXPECT_LT(plan.padded_features - in_features, row_slice(bits));
    EXPECT_EQ(plan.slices * row_slice(bits), plan.padded_features);
    EXPECT_GE(plan.plane_bytes, plan.padded_features);
    EXPECT_GE(plan.sums_at, plan.digits_at + kRowDigits * plan.plane_bytes);
    EXPECT_GE(plan.table_at, plan.sums_at);
    EXPECT_EQ(plan.stages_at, plan.table_at + plan.tables * plan.table_bytes);
    EXPECT_EQ(plan.shared_bytes,
              plan.stages_at + kRowWarps * plan.stages * row_stage_bytes(bits, group_size));
  });
}

// Copies of 16 bytes go to multiples of 16; the warps' reads have no conflicts of banks.
TEST(RowPlan, AlignsWhatIsCopiedAndRead) {
  for_each_plan([](int bits, int group_size, const RowPlan& plan, int) {
    EXPECT_EQ(plan.stages_at % 128, 0);
    EXPECT_EQ(row_stage_bytes(bits, group_size) % 16, 0);
    EXPECT_EQ(row_stage_stride(bits) % 128, bits == 8 ? 32 : 16);
    EXPECT_EQ(plan.sums_at % 8, 0);
    EXPECT_EQ(plan.table_at % 8, 0);
    EXPECT_EQ(plan.plane_bytes % 128, 32);
  });
}

TEST(BatchPlan, HasAPipelineForEachLayer) {
  for_each_plan([](int bits, int group_size, const RowPlan&, int in_features) {
    for (const int x_rows : {8, 16}) {
      const BatchPlan plan = plan_batch(bits, group_size, in_features, x_rows, 0, kSharedOfWhole);
      EXPECT_GE(plan.stages, 3);
      EXPECT_LE(plan.shared_bytes, kSharedOfWhole);
      EXPECT_GE(plan.slices * row_slice(bits), in_features);
      EXPECT_EQ(plan.digits_at % 16, 0);
      EXPECT_EQ(plan.stages_at % 128, 0);
      EXPECT_GE(plan.stages_at, plan.digits_at + 2 * plan.digit_bytes);
      EXPECT_EQ(batch_stage_bytes(bits, group_size) % 16, 0);
      EXPECT_EQ(batch_plane_bytes(bits) % 128, 32);
    }
  });
}

}  // namespace
}  // namespace qsim::golden::cuda
