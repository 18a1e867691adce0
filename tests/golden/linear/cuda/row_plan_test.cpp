// The plan of the CUDA kernel's shared memory, for each length of x.
#include "golden/linear/cuda/row_plan.h"

#include <gtest/gtest.h>

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
        check(plan_rows(bits, group_size, in_features, 0), in_features);
      }
    }
  }
}

TEST(RowPlan, TakesAtMostTheSharedMemoryOfABlockIfItHasAPipeline) {
  for_each_plan([](const RowPlan& plan, int) {
    EXPECT_LE(plan.stages, kRowMostStages);
    if (plan.stages >= 2) {
      EXPECT_LE(plan.shared_bytes, kSharedOfWhole);
    }
  });
}

TEST(RowPlan, LeavesRoomForTheNextKernelUpToEightThousandFeatures) {
  for (const int in_features : {32, 512, 1024, 4096, 8192}) {
    for (const int bits : {8, 4}) {
      const RowPlan plan = plan_rows(bits, 0, in_features, 0);
      EXPECT_LE(plan.shared_bytes, kSharedOfHalf) << in_features;
      EXPECT_GE(plan.stages, 5) << in_features;
    }
  }
}

TEST(RowPlan, HasAPipelineForTwentyEightThousandFeatures) {
  EXPECT_GE(plan_rows(8, 0, 28672, 0).stages, 3);
  EXPECT_GE(plan_rows(4, 0, 28672, 0).stages, 3);
  EXPECT_LT(plan_rows(8, 0, 132104, 0).stages, 2);  // the plain kernel has those
}

TEST(RowPlan, CoversEachInputFeatureAndKeepsPartsApart) {
  for_each_plan([](const RowPlan& plan, int in_features) {
    EXPECT_GE(plan.padded_features, in_features);
    EXPECT_LT(plan.padded_features - in_features, kRowSlice);
    EXPECT_GE(plan.chunks * kRowChunk, in_features);
    EXPECT_GE(plan.plane_bytes, plan.padded_features);
    EXPECT_GE(plan.sums_at, plan.digits_at + kRowDigits * plan.plane_bytes);
    EXPECT_GE(plan.table_at, plan.sums_at);
    EXPECT_EQ(plan.stages_at, plan.table_at + plan.tables * plan.table_bytes);
    EXPECT_EQ(plan.shared_bytes, plan.stages_at + plan.stages * plan.stage_bytes);
  });
}

// A bulk copy's end is a multiple of 16; the warps' reads have no conflicts of banks.
TEST(RowPlan, AlignsWhatIsCopiedAndRead) {
  for_each_plan([](const RowPlan& plan, int) {
    EXPECT_EQ(plan.stages_at % 128, 0);
    EXPECT_EQ(plan.stage_bytes % 128, 0);
    EXPECT_EQ(plan.stage_row_bytes % 16, 0);
    EXPECT_EQ(plan.sums_at % 8, 0);
    EXPECT_EQ(plan.table_at % 8, 0);
    EXPECT_EQ(plan.plane_bytes % 128, 32);
    EXPECT_TRUE(plan.stage_row_bytes % 128 == 32 || plan.stage_row_bytes % 128 == 16);
  });
}

}  // namespace
}  // namespace qsim::golden::cuda
