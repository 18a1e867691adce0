// The plans of the CUDA kernels' shared memory, for each length of x.
#include <map>

#include <gtest/gtest.h>

#include "golden/kernels/linear/cuda/batch_plan.h"
#include "golden/kernels/linear/cuda/hopper_plan.h"

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
        for (const int warps : {kFewRowWarps, kManyRowWarps}) {
          check(bits, group_size,
                plan_rows({bits, group_size, 4096, in_features, 0, kSharedOfWhole, warps}),
                in_features);
        }
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
      const RowPlan plan = plan_rows({bits, 0, 1024, in_features, 0, kSharedOfWhole, 0});
      EXPECT_LE(plan.shared_bytes, kSharedOfHalf) << in_features;
      EXPECT_GE(plan.stages, 3) << in_features;
    }
  }
}

TEST(RowPlan, HasAPipelineForTwentyEightThousandFeatures) {
  EXPECT_GE(plan_rows({8, 0, 8192, 28672, 0, kSharedOfWhole, 0}).stages, 2);
  EXPECT_GE(plan_rows({4, 0, 8192, 28672, 0, kSharedOfWhole, 0}).stages, 2);
  EXPECT_LT(plan_rows({8, 0, 8192, 132104, 0, kSharedOfWhole, 0}).stages,
            2);  // the plain kernel has those
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
              plan.stages_at + plan.warps * plan.stages * row_stage_bytes(bits, group_size));
  });
}

// Copies of 16 bytes go to multiples of 16.
TEST(RowPlan, AlignsWhatIsCopiedAndRead) {
  for_each_plan([](int bits, int group_size, const RowPlan& plan, int) {
    EXPECT_EQ(plan.stages_at % 128, 0);
    EXPECT_EQ(row_stage_bytes(bits, group_size) % 16, 0);
    EXPECT_EQ(plan.sums_at % 8, 0);
    EXPECT_EQ(plan.table_at % 8, 0);
    EXPECT_EQ(plan.plane_bytes % 16, 0);
  });
}

TEST(RowPlan, HasEachStageThatTheKernelOfGroupsUsesOrIsRefused) {
  int refused = 0;
  for_each_plan([&](int bits, int group_size, const RowPlan& plan, int) {
    if (group_size == 0) return;
    if (!has_row_pipeline(plan, group_size)) {
      ++refused;
      return;
    }
    EXPECT_EQ(plan.shared_bytes - plan.stages_at,
              kGroupedRowWarps * kGroupedRowStages * row_stage_bytes(bits, group_size));
    EXPECT_LE(plan.shared_bytes, kSharedOfWhole);
  });
  EXPECT_GT(refused, 0);
}

TEST(RowPlan, TakesMoreWarpsFromManyWeightsOn) {
  const auto warps = [](std::int64_t out_features, int in_features, int group_size) {
    return plan_rows({8, group_size, out_features, in_features, 0, kSharedOfWhole, 0}).warps;
  };
  EXPECT_EQ(warps(4095, 8192, 0), kFewRowWarps);
  EXPECT_EQ(warps(4096, 8192, 0), kManyRowWarps);
  EXPECT_EQ(warps(65536, 512, 0), kFewRowWarps);  // a tile has too few slices
  EXPECT_EQ(warps(16, 128, 128), kGroupedRowWarps);
}

// 32 lanes read `bytes` each, where address(lane) says; the hardware takes 128 bytes at a time.
template <typename Address>
void expect_no_conflicts(int bytes, Address address) {
  const int at_once = 128 / bytes;
  for (int first = 0; first < 32; first += at_once) {
    std::map<int, int> word_of_bank;
    for (int lane = first; lane < first + at_once; ++lane) {
      for (int word = address(lane) / 4; word < (address(lane) + bytes) / 4; ++word) {
        const auto [at, is_new] = word_of_bank.emplace(word % 32, word);
        EXPECT_TRUE(is_new || at->second == word) << "lanes from " << first;
      }
    }
  }
}

TEST(RowPlan, ReadsWeightsAndDigitsWithoutConflictsOfBanks) {
  for_each_plan([](int bits, int group_size, const RowPlan& plan, int) {
    const int read = row_read_bytes(bits, group_size);
    for (int i = 0; i < row_reads(bits, group_size); ++i) {
      expect_no_conflicts(read, [&](int lane) {
        const int byte = (4 * i + lane % 4) * read;
        const int chunk = byte / 16 ^ row_swizzle(bits, group_size, lane / 4);
        return lane / 4 * kRowSliceBytes + chunk * 16 + byte % 16;
      });
    }
    const int digits = read * 8 / bits;  // of a lane
    expect_no_conflicts(digits < 16 ? digits : 16, [&](int lane) {
      const int plane = lane / 4 < kRowDigits ? lane / 4 : lane / 4 - 4;
      return plane * plan.plane_bytes + lane % 4 * digits;
    });
  });
}

TEST(Plans, HaveAtMostTheStagesThatTheirKernelsCanWaitFor) {
  constexpr int kTooMany = 100;
  EXPECT_EQ(plan_rows({8, 0, 16, 128, kTooMany, kSharedOfWhole, 0}).stages, kRowMostStages);
  EXPECT_LE(plan_batch(8, 0, 128, 8, kTooMany, kSharedOfWhole).stages, kBatchMostStages);
  EXPECT_EQ(plan_hopper(16, 128, 8, 2, 132, kTooMany, kSharedOfWhole).stages, kHopperMostStages);
}

TEST(RowPlan, SwizzlesEachChannelsBytesToPlacesOfTheirOwn) {
  for_each_plan([](int bits, int group_size, const RowPlan&, int) {
    for (int channel = 0; channel < kRowChannels; ++channel) {
      EXPECT_LT(row_swizzle(bits, group_size, channel), kRowSliceBytes / 16);
      EXPECT_EQ(row_swizzle(bits, group_size, channel), row_swizzle(bits, group_size, channel % 8));
    }
  });
}

TEST(HopperPlan, GivesEachChannelToOneBlockAndFitsTheSharedMemory) {
  for (std::int64_t out_features = 1; out_features < 100000; out_features += out_features / 5 + 1) {
    for (const auto& [x_rows, x_bytes] : {std::pair{8, 2}, {8, 4}, {16, 2}, {16, 4}}) {
      SCOPED_TRACE(std::to_string(out_features));
      const HopperPlan plan =
          plan_hopper(out_features, 8192, x_rows, x_bytes, 132, 0, kSharedOfWhole);
      EXPECT_EQ(plan.channels % kRowChannels, 0);
      EXPECT_LE(plan.channels, kHopperMostChannels);
      EXPECT_LE(plan.channels, 2 * plan.tiles * kHopperTile);
      EXPECT_GE(plan.stages, 2);
      EXPECT_LE(plan.shared_bytes, kSharedOfWhole);
      EXPECT_EQ(plan.rows_at % 16, 0);
      EXPECT_EQ(plan.stage_bytes % 1024, 0);
      EXPECT_EQ(plan.digits_at % 1024, 0);
      EXPECT_EQ(plan.digit_bytes % 1024, 0);
      EXPECT_EQ(plan.stages_at % 1024, 0);
      // The blocks fill the multiprocessors in whole turns, but for what 16 channels round.
      const std::int64_t blocks = (out_features + plan.channels - 1) / plan.channels;
      const std::int64_t turns = (blocks + 131) / 132;
      EXPECT_EQ(turns, (out_features + 256 * 132 - 1) / (256 * 132));
    }
  }
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
