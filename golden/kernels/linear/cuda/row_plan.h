// How the kernel of linear_rows.cu shares its memory: what is where, and how deep its pipelines
// are.
#pragma once

#include <cstdint>

#include "core/numerics/requantize.h"

namespace qsim::golden::cuda {

inline constexpr int kRowChannels = 16;     // of a tile: the rows of one tensor-core product
inline constexpr int kRowSliceBytes = 128;  // of each channel's weights in a stage of a warp
inline constexpr int kRowMostStages = 8;
inline constexpr int kRowDigits = 6;
// Shared memory of a multiprocessor of compute capability 9.0: with this much a block leaves room
// for one of the next kernel, which fills its pipelines meanwhile.
inline constexpr int kSharedOfHalf = (228 * 1024) / 2 - 1024;
inline constexpr int kSharedOfWhole = 227 * 1024;

// Warps of a block. With groups, whose sums are rounded one by one, a slice takes longer; without,
// more warps read many weights faster, and fewer leave room for a block of the next kernel.
inline constexpr int kGroupedRowWarps = 16;
inline constexpr int kManyRowWarps = 16;
inline constexpr int kFewRowWarps = 8;
inline constexpr int kGroupedRowStages = 3;  // of each warp, with groups

// Input features of a slice: what a warp multiplies at once.
QSIM_HOST_DEVICE constexpr int row_slice(int bits) { return kRowSliceBytes * 8 / bits; }

// A lane reads so many consecutive bytes of a channel at once: 16, or a quarter of a group.
QSIM_HOST_DEVICE constexpr int row_read_bytes(int bits, int group_size) {
  const int quarter = group_size * bits / 32;
  return group_size == 0 || quarter > 16 ? 16 : quarter;
}
// Four lanes read a channel's bytes side by side; after so many reads they have a slice's.
QSIM_HOST_DEVICE constexpr int row_reads(int bits, int group_size) {
  return kRowSliceBytes / (4 * row_read_bytes(bits, group_size));
}

// Where channel r of a stage has its 16 bytes number c: at number c ^ row_swizzle(r), so that the
// channels that a warp reads at once are in different banks.
QSIM_HOST_DEVICE constexpr int row_swizzle(int bits, int group_size, int channel) {
  return channel % row_reads(bits, group_size) * row_read_bytes(bits, group_size) / 4;
}

// From a plane of digits to the next, beyond a multiple of 128 bytes: a warp reads six planes at
// once, 16 bytes a lane with gaps of 16 (4 bits, whole reads), else 8 or 16 bytes without.
QSIM_HOST_DEVICE constexpr int row_plane_skew(int bits, int group_size) {
  const int bytes = row_read_bytes(bits, group_size) * 8 / bits;
  return bytes == 32 ? 16 : 4 * bytes;
}

// The bytes of the whole words that have a channel's zero_points, in a stage of 4 bits with groups.
QSIM_HOST_DEVICE constexpr int row_zero_point_bytes(int group_size) {
  const int groups = row_slice(4) / group_size;
  return groups < 4 ? 4 : groups;
}

// A stage: weights, then the scales of each channel's groups, then their zero_points.
QSIM_HOST_DEVICE constexpr int row_stage_bytes(int bits, int group_size) {
  const int weights = kRowChannels * kRowSliceBytes;
  if (group_size == 0) return weights;
  const int scales = row_slice(bits) / group_size * kRowChannels * 4;
  return weights + scales + (bits == 4 ? kRowChannels * row_zero_point_bytes(group_size) : 0);
}

// Byte positions in the block's shared memory.
struct RowPlan {
  int warps = 0;
  int slices = 0;           // of a tile
  int padded_features = 0;  // in_features to a multiple of a slice
  int stages = 0;           // of each warp
  int plane_bytes = 0;      // from a digit's plane to the next
  int digits_at = 0;        // [kRowDigits][plane_bytes]
  int sums_at = 0;          // of groups of 4 bits: the sum of x in each group, int64
  int tables = 0;           // 2: a tile is finished while the next one is multiplied
  int table_bytes = 0;
  int table_at = 0;   // [tables]: sums by warp, or rounded sums and scales by channel and group
  int stages_at = 0;  // [warps][stages][row_stage_bytes()]
  int shared_bytes = 0;
};

// The layer's sizes, what a plan must know of its kernel, and the bytes that a block may have.
struct RowPlanRequest {
  int bits = 8;
  int group_size = 0;
  std::int64_t out_features = 0;
  int in_features = 0;
  int stages = 0;  // 0: as many as are useful
  int limit = 0;
  int warps = 0;  // 0: by the number of weights
};

// Whether the plan has the stages that the kernel needs: not if x is too long.
constexpr bool has_row_pipeline(const RowPlan& plan, std::int64_t group_size) {
  return plan.stages >= (group_size == 0 ? 2 : kGroupedRowStages);
}

constexpr RowPlan plan_rows(const RowPlanRequest& request) {
  const auto [bits, group_size, out_features, in_features, stages, limit, warps] = request;
  // On an H200 it is faster from 32 MiB of weights on to give up the room for the next kernel.
  constexpr std::int64_t kManyBytes = std::int64_t{32} << 20;
  const bool many = out_features * in_features * bits / 8 >= kManyBytes &&
                    in_features >= kManyRowWarps * row_slice(bits);
  const int warps_without_groups = warps != 0 ? warps : many ? kManyRowWarps : kFewRowWarps;
  constexpr int kHeader = 128;  // RowFlags
  const int useful = group_size == 0 && warps_without_groups == kManyRowWarps ? 5 : 4;
  constexpr int kEnough = 3;
  const auto aligned = [](int bytes) { return (bytes + 127) / 128 * 128; };
  RowPlan plan;
  plan.warps = group_size != 0 ? kGroupedRowWarps : warps_without_groups;
  plan.slices = (in_features + row_slice(bits) - 1) / row_slice(bits);
  plan.padded_features = plan.slices * row_slice(bits);
  plan.plane_bytes = plan.padded_features + row_plane_skew(bits, group_size);
  plan.digits_at = kHeader;
  plan.sums_at = aligned(plan.digits_at + kRowDigits * plan.plane_bytes);
  const int groups = group_size == 0 ? 1 : (in_features + group_size - 1) / group_size;
  plan.table_at = aligned(plan.sums_at + (group_size != 0 && bits == 4 ? groups * 8 : 0));
  plan.table_bytes = group_size == 0 ? plan.warps * kRowChannels * 8 * 4
                                     : aligned(kRowChannels * (groups + 1) * 8);
  const int all_stage_bytes = plan.warps * row_stage_bytes(bits, group_size);
  const int asked = stages < kRowMostStages ? stages : kRowMostStages;
  const int chosen = group_size != 0 ? kGroupedRowStages : useful;
  const auto try_plan = [&](int tables, int bytes, int enough) {
    const int left = bytes - plan.table_at - tables * plan.table_bytes;
    const int fit = left < 0 ? 0 : left / all_stage_bytes;
    const int most = asked != 0 && group_size == 0 ? asked : chosen;
    plan.tables = tables;
    plan.stages = fit < most ? fit : most;
    return plan.stages >= enough;
  };
  const int half = kSharedOfHalf < limit && plan.warps == kFewRowWarps ? kSharedOfHalf : limit;
  const int wanted = asked != 0 && group_size == 0 ? asked : kEnough;
  if (!try_plan(2, half, wanted) && !try_plan(1, half, wanted) && !try_plan(2, limit, wanted) &&
      !try_plan(1, limit, wanted)) {
    try_plan(1, limit, 0);
  }
  plan.stages_at = plan.table_at + plan.tables * plan.table_bytes;
  plan.shared_bytes = plan.stages_at + plan.stages * all_stage_bytes;
  // A long x leaves fewer warps more stages.
  if (warps == 0 && plan.warps == kManyRowWarps && group_size == 0 && plan.stages < kEnough) {
    RowPlanRequest fewer = request;
    fewer.warps = kFewRowWarps;
    return plan_rows(fewer);
  }
  return plan;
}

}  // namespace qsim::golden::cuda
