// How the kernel of linear_rows.cu shares its memory: what is where, and how deep the pipeline is.
#pragma once

#include <cstdint>

namespace qsim::golden::cuda {

inline constexpr int kRowChannels = 16;  // of a tile: the rows of one tensor-core product
inline constexpr int kRowChunk = 512;    // input features of a stage
inline constexpr int kRowSlice = 128;    // input features of a warp in a stage
inline constexpr int kRowWarps = 8;      // that multiply; one more copies
inline constexpr int kRowConsumers = 32 * kRowWarps;
inline constexpr int kRowThreads = kRowConsumers + 32;
inline constexpr int kRowMostStages = 16;
inline constexpr int kRowDigits = 6;
// Shared memory of a multiprocessor of compute capability 9.0: with this much a block leaves room
// for one of the next kernel, which fills its pipeline meanwhile.
inline constexpr int kSharedOfHalf = (228 * 1024) / 2 - 1024;
inline constexpr int kSharedOfWhole = 227 * 1024;

// Byte positions in the block's shared memory.
struct RowPlan {
  int padded_features = 0;  // in_features to a multiple of kRowSlice
  int chunks = 0;           // stages of a tile
  int stage_row_bytes = 0;  // from a channel to the next in a stage
  int stage_bytes = 0;
  int stages = 0;
  int plane_bytes = 0;  // from a digit's plane to the next
  int digits_at = 0;    // [kRowDigits][plane_bytes]
  int sums_at = 0;      // of groups of 4 bits: the sum of x in each group, int64
  int tables = 0;       // 2: a tile's results are finished while the next tile is multiplied
  int table_bytes = 0;
  int table_at = 0;  // [tables]: sums by warp, or rounded sums and scales by channel and group
  int stages_at = 0;
  int shared_bytes = 0;
};

// `stages` 0: as many as are useful. The plan has fewer than 2 stages if x is too long.
constexpr RowPlan plan_rows(int bits, int group_size, int in_features, int stages) {
  constexpr int kHeader = 512;  // barriers and flags
  const auto aligned = [](int bytes) { return (bytes + 127) / 128 * 128; };
  RowPlan plan;
  plan.padded_features = (in_features + kRowSlice - 1) / kRowSlice * kRowSlice;
  plan.chunks = (in_features + kRowChunk - 1) / kRowChunk;
  // 8 bits: 32 bytes beyond a multiple of 128 keep the warp's reads of 8 bytes free of conflicts;
  // 4 bits: 16 bytes beyond, for reads of 4 bytes.
  plan.stage_row_bytes = bits == 8 ? kRowChunk + 32 : kRowChunk / 2 + 16;
  plan.stage_bytes = kRowChannels * plan.stage_row_bytes;
  plan.plane_bytes = plan.padded_features + 32;
  plan.digits_at = kHeader;
  plan.sums_at = aligned(plan.digits_at + kRowDigits * plan.plane_bytes);
  const int groups = group_size == 0 ? 1 : (in_features + group_size - 1) / group_size;
  const int sum_bytes = group_size != 0 && bits == 4 ? groups * 8 : 0;
  plan.table_at = aligned(plan.sums_at + sum_bytes);
  plan.table_bytes =
      group_size == 0 ? kRowWarps * kRowChannels * 8 * 4 : aligned(kRowChannels * (groups + 1) * 8);
  const auto fitting = [&](int tables, int limit) {
    const int left = limit - plan.table_at - tables * plan.table_bytes;
    const int most = stages != 0 ? stages : (bits == 8 ? 8 : 14);
    const int fit = left < 0 ? 0 : left / plan.stage_bytes;
    return fit < most ? fit : most;
  };
  const int enough = stages != 0 ? stages : (bits == 8 ? 5 : 9);
  plan.tables = 2;
  plan.stages = fitting(2, kSharedOfHalf);
  if (plan.stages < enough) plan.stages = fitting(2, kSharedOfWhole);
  if (plan.stages < enough) {
    plan.tables = 1;
    plan.stages = fitting(1, kSharedOfWhole);
  }
  plan.stages_at = plan.table_at + plan.tables * plan.table_bytes;
  plan.shared_bytes = plan.stages_at + plan.stages * plan.stage_bytes;
  return plan;
}

}  // namespace qsim::golden::cuda
