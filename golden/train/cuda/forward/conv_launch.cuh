// Which kernel computes a convolution's sums.
#pragma once

#include "golden/train/cuda/forward/conv_boxes.cuh"
#include "golden/train/cuda/forward/conv_gemm.cuh"
#include "golden/train/cuda/forward/conv_patches.h"
#include "golden/train/cuda/forward/conv_split.cuh"
#include "golden/train/cuda/forward/conv_stored_boxes.cuh"

namespace qsim::golden::train::cuda {

// What launch_conv() returns is at most this.
inline std::int64_t most_slots(const LevelConv& conv) {
  constexpr std::int64_t kMostMultiprocessors = 256;
  return std::max(ceil_div(conv.pixels(), kPieceRows), kMostMultiprocessors * kBoxWarpgroups);
}

// Of launch_conv(), a multiple of 256.
inline std::size_t conv_workspace_bytes(const LevelConv& conv) {
  const ConvSizes sizes = conv_sizes(conv);
  const std::size_t bytes = std::max(patch_workspace_bytes(sizes), split_workspace_bytes(sizes));
  return (bytes + 255) / 256 * 256;
}

// Of finishes that have no boxes to store.
template <class Finish>
bool launch_stored(const BoxConv& /*plan*/, const ConvSizes& /*conv*/, const Finish& /*finish*/,
                   cudaStream_t /*stream*/) {
  return false;
}

template <class Finish>
std::int64_t launch_boxes_or_gemm(const ConvSizes& conv, const Finish& finish, bool is_hopper,
                                  cudaStream_t stream) {
  if (is_hopper) {
    if (const std::optional<BoxConv> plan = plan_boxes(conv, multiprocessors())) {
      if (!launch_stored(*plan, conv, finish, stream)) launch_boxes(*plan, conv, finish, stream);
      return plan->blocks / plan->column_blocks.divisor() * kBoxWarpgroups;
    }
  }
  launch_gemm(conv, finish, stream);
  return ceil_div(conv.pixels, kPieceRows);
}

// Enqueues the kernels whose sums `finish` finishes; nothing where there are no sums. Returns the
// number of slots: end() comes once with each slot below that and each column.
template <class Finish>
std::int64_t launch_conv(const LevelConv& conv, const Finish& finish, void* workspace,
                         cudaStream_t stream) {
  ConvSizes sizes = conv_sizes(conv);
  if (sizes.pixels == 0 || sizes.all_columns == 0) return 0;
  const bool is_hopper = has_box_instructions();
  if (takes_split(sizes) && is_aligned(sizes.q, 16) && is_aligned(sizes.w, 16)) {
    launch_split(sizes, finish, workspace, multiprocessors(), stream);
    return ceil_div(sizes.pixels, kPieceRows);
  }
  if (is_hopper && patch_bytes(sizes) > 0) sizes = enqueue_patches(sizes, workspace, stream);
  return launch_boxes_or_gemm(sizes, finish, is_hopper, stream);
}

}  // namespace qsim::golden::train::cuda
