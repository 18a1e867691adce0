// How the kernel of linear_batch.cu shares its work and memory.
#pragma once

#include "golden/kernels/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

inline constexpr int kBatchWarps = 8;
inline constexpr int kBatchThreads = 32 * kBatchWarps;
inline constexpr int kBatchTiles = 2;  // of 16 output channels, of a warp
inline constexpr int kBatchMostTiles = kBatchWarps * kBatchTiles;
inline constexpr int kBatchMostStages = 6;

// The bytes from a channel to the next in a stage. 8 bits: 32 bytes beyond a multiple of 128 keep
// the warp's reads of 8 bytes free of conflicts; 4 bits: 16 bytes beyond, for reads of 4 bytes.
QSIM_HOST_DEVICE constexpr int batch_stride(int bits) {
  return kRowSliceBytes + (bits == 8 ? 32 : 16);
}

// The bytes from a column of digits to the next: free of conflicts as the rows of a stage are.
QSIM_HOST_DEVICE constexpr int batch_plane_bytes(int bits) { return row_slice(bits) + 32; }

// A warp's stage: the weights of its tiles, one after the other, then the scales of all channels.
QSIM_HOST_DEVICE constexpr int batch_stage_bytes(int bits, int group_size) {
  const int scales = group_size == 0 ? 0 : row_slice(bits) / group_size * kRowChannels * 4;
  return kBatchTiles * (kRowChannels * batch_stride(bits) + scales);
}

struct BatchPlan {
  int slices = 0;
  int stages = 0;       // of each warp
  int digits_at = 0;    // [2][kRowDigits][rows of x][batch_plane_bytes()]
  int digit_bytes = 0;  // of one of the two
  int stages_at = 0;    // [kBatchWarps][stages][batch_stage_bytes()]
  int shared_bytes = 0;
};

// x_rows: rows of x that a block takes, 8 or 16. Within `limit` bytes a block.
constexpr BatchPlan plan_batch(int bits, int group_size, int in_features, int x_rows, int stages,
                               int limit) {
  constexpr int kHeader = 512;  // BatchFlags
  BatchPlan plan;
  plan.slices = (in_features + row_slice(bits) - 1) / row_slice(bits);
  plan.digits_at = kHeader;
  plan.digit_bytes = kRowDigits * x_rows * batch_plane_bytes(bits);
  plan.stages_at = (plan.digits_at + 2 * plan.digit_bytes + 127) / 128 * 128;
  const int all_stage_bytes = kBatchWarps * batch_stage_bytes(bits, group_size);
  const int fit = (limit - plan.stages_at) / all_stage_bytes;
  const int wanted = stages != 0 && stages < kBatchMostStages ? stages : kBatchMostStages;
  plan.stages = fit < wanted ? fit : wanted;
  plan.shared_bytes = plan.stages_at + plan.stages * all_stage_bytes;
  return plan;
}

}  // namespace qsim::golden::cuda
