// How the kernel of linear_batch_hopper.cu shares its work and memory.
#pragma once

#include "golden/kernels/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

inline constexpr int kHopperSlice = 128;  // input features: a row of the copy engine's boxes
inline constexpr int kHopperTile = 64;    // output channels of a product
inline constexpr int kHopperMostChannels = 256;
inline constexpr int kHopperMultipliers = 8;  // warps: two warpgroups
inline constexpr int kHopperConverters = 4;   // warps of a team
inline constexpr int kHopperTeams = 2;        // which take turns on slices of x
inline constexpr int kHopperThreads = 32 * (kHopperMultipliers + kHopperTeams * kHopperConverters);
inline constexpr int kHopperMostStages = 8;
inline constexpr int kHopperDigitBuffers = 4;
inline constexpr int kHopperRowsAhead = 4;  // slices of x that a team has under way

// Byte positions in a block's shared memory, from a multiple of 1024 on.
struct HopperPlan {
  int channels = 0;  // of a block, a multiple of 16
  int tiles = 0;     // of each of the two warpgroups
  int slices = 0;
  int stages = 0;
  int stage_bytes = 0;
  int digits_at = 0;  // [kHopperDigitBuffers][kRowDigits][x_rows][kHopperSlice], swizzled
  int digit_bytes = 0;
  int rows_at = 0;    // [kHopperRowsAhead][x_rows * kHopperSlice / 8 of each team][8 numbers]
  int row_bytes = 0;  // of one of the former
  int stages_at = 0;  // [stages][channels][kHopperSlice], swizzled
  int shared_bytes = 0;
};

// Channels that blocks of `multiprocessors` have in as few turns as possible.
constexpr HopperPlan plan_hopper(std::int64_t out_features, int in_features, int x_rows,
                                 int x_bytes, int multiprocessors, int stages, int limit) {
  constexpr int kHeader = 1024;  // HopperShared
  constexpr int kAlignment = 1024;
  HopperPlan plan;
  const std::int64_t rows = (out_features + kRowChannels - 1) / kRowChannels;
  const std::int64_t turns =
      (rows * kRowChannels + std::int64_t{kHopperMostChannels} * multiprocessors - 1) /
      (std::int64_t{kHopperMostChannels} * multiprocessors);
  plan.channels = kRowChannels * static_cast<int>((rows + turns * multiprocessors - 1) /
                                                  (turns * multiprocessors));
  plan.tiles = plan.channels > 2 * kHopperTile ? 2 : 1;
  plan.slices = (in_features + kHopperSlice - 1) / kHopperSlice;
  plan.stage_bytes = plan.channels * kHopperSlice;
  plan.digits_at = kHeader;
  plan.digit_bytes = kRowDigits * x_rows * kHopperSlice;
  plan.rows_at = plan.digits_at + kHopperDigitBuffers * plan.digit_bytes;
  plan.row_bytes = kHopperTeams * x_rows * kHopperSlice * x_bytes;
  plan.stages_at = plan.rows_at + kHopperRowsAhead * plan.row_bytes;
  // Products read whole tiles, also where the last stage has fewer channels.
  const int beyond = 2 * plan.tiles * kHopperTile * kHopperSlice - plan.stage_bytes;
  const int fit = (limit - kAlignment - plan.stages_at - beyond) / plan.stage_bytes;
  const int wanted = stages != 0 && stages < kHopperMostStages ? stages : kHopperMostStages;
  plan.stages = fit < wanted ? fit : wanted;
  plan.shared_bytes = kAlignment + plan.stages_at + plan.stages * plan.stage_bytes + beyond;
  return plan;
}

}  // namespace qsim::golden::cuda
