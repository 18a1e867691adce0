// How the kernel of linear_rows.cu shares its memory: what is where, and how deep its pipelines
// are.
#pragma once

#include <cstdint>

#include "core/requantize.h"

namespace qsim::golden::cuda {

inline constexpr int kRowChannels = 16;     // of a tile: the rows of one tensor-core product
inline constexpr int kRowSliceBytes = 128;  // of each channel's weights in a stage of a warp
inline constexpr int kRowWarps = 8;
inline constexpr int kRowThreads = 32 * kRowWarps;
inline constexpr int kRowMostStages = 8;
inline constexpr int kRowDigits = 6;
// Shared memory of a multiprocessor of compute capability 9.0: with this much a block leaves room
// for one of the next kernel, which fills its pipelines meanwhile.
inline constexpr int kSharedOfHalf = (228 * 1024) / 2 - 1024;
inline constexpr int kSharedOfWhole = 227 * 1024;

// Input features of a slice: what a warp multiplies at once.
QSIM_HOST_DEVICE constexpr int row_slice(int bits) { return kRowSliceBytes * 8 / bits; }

// From a channel to the next in a stage. 8 bits: 32 bytes beyond a multiple of 128 keep the warp's
// reads of 8 bytes free of conflicts; 4 bits: 16 bytes beyond, for reads of 4 bytes.
QSIM_HOST_DEVICE constexpr int row_stage_stride(int bits) {
  return kRowSliceBytes + (bits == 8 ? 32 : 16);
}

// A stage: weights, then the scales of each channel's groups.
QSIM_HOST_DEVICE constexpr int row_stage_bytes(int bits, int group_size) {
  const int scales = group_size == 0 ? 0 : row_slice(bits) / group_size * kRowChannels * 4;
  return kRowChannels * row_stage_stride(bits) + scales;
}

// Byte positions in the block's shared memory.
struct RowPlan {
  int slices = 0;           // of a tile
  int padded_features = 0;  // in_features to a multiple of a slice
  int stages = 0;           // of each warp
  int plane_bytes = 0;      // from a digit's plane to the next
  int digits_at = 0;        // [kRowDigits][plane_bytes]
  int sums_at = 0;          // of groups of 4 bits: the sum of x in each group, int64
  int tables = 0;           // 2: a tile is finished while the next one is multiplied
  int table_bytes = 0;
  int table_at = 0;   // [tables]: sums by warp, or rounded sums and scales by channel and group
  int stages_at = 0;  // [kRowWarps][stages][row_stage_bytes()]
  int shared_bytes = 0;
};

// A plan with `stages`, or 0: as many as are useful, within `limit` bytes a block. The plan has
// fewer than 2 stages if x is too long.
constexpr RowPlan plan_rows(int bits, int group_size, int in_features, int stages, int limit) {
  constexpr int kHeader = 128;  // RowFlags
  constexpr int kUseful = 4;
  constexpr int kEnough = 3;
  const auto aligned = [](int bytes) { return (bytes + 127) / 128 * 128; };
  RowPlan plan;
  plan.slices = (in_features + row_slice(bits) - 1) / row_slice(bits);
  plan.padded_features = plan.slices * row_slice(bits);
  plan.plane_bytes = plan.padded_features + 32;
  plan.digits_at = kHeader;
  plan.sums_at = aligned(plan.digits_at + kRowDigits * plan.plane_bytes);
  const int groups = group_size == 0 ? 1 : (in_features + group_size - 1) / group_size;
  plan.table_at = aligned(plan.sums_at + (group_size != 0 && bits == 4 ? groups * 8 : 0));
  plan.table_bytes =
      group_size == 0 ? kRowWarps * kRowChannels * 8 * 4 : aligned(kRowChannels * (groups + 1) * 8);
  const int all_stage_bytes = kRowWarps * row_stage_bytes(bits, group_size);
  const auto try_plan = [&](int tables, int bytes, int enough) {
    const int left = bytes - plan.table_at - tables * plan.table_bytes;
    const int fit = left < 0 ? 0 : left / all_stage_bytes;
    const int most = stages != 0 ? stages : kUseful;
    plan.tables = tables;
    plan.stages = fit < most ? fit : most;
    return plan.stages >= enough;
  };
  const int half = kSharedOfHalf < limit ? kSharedOfHalf : limit;
  const int wanted = stages != 0 ? stages : kEnough;
  if (!try_plan(2, half, wanted) && !try_plan(1, half, wanted) && !try_plan(2, limit, wanted) &&
      !try_plan(1, limit, wanted)) {
    try_plan(1, limit, 0);
  }
  plan.stages_at = plan.table_at + plan.tables * plan.table_bytes;
  plan.shared_bytes = plan.stages_at + plan.stages * all_stage_bytes;
  return plan;
}

}  // namespace qsim::golden::cuda
