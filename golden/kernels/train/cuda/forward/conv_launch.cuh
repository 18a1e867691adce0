// Which kernel computes a convolution's sums.
#pragma once

#include "golden/kernels/train/cuda/forward/conv_boxes.cuh"
#include "golden/kernels/train/cuda/forward/conv_direct.cuh"
#include "golden/kernels/train/cuda/forward/conv_gemm.cuh"
#include "golden/kernels/train/cuda/forward/conv_patches.h"
#include "golden/kernels/train/cuda/forward/conv_split.cuh"
#include "golden/kernels/train/cuda/forward/conv_zero_sums.h"

namespace qsim::golden::train::cuda {

// What launch_conv() returns is at most this.
inline std::int64_t most_slots(const LevelConv& conv) {
  constexpr std::int64_t kMostMultiprocessors = 256;
  return std::max(ceil_div(conv.pixels(), kPieceRows), kMostMultiprocessors * kBoxWarpgroups);
}

// The workspace of launch_conv(), a multiple of 256.
inline std::size_t conv_workspace_bytes(const LevelConv& conv) {
  const ConvSizes sizes = conv_sizes(conv);
  const std::size_t bytes = std::max(
      {patch_workspace_bytes(sizes), split_workspace_bytes(sizes), zero_sums_bytes(sizes)});
  return (bytes + 255) / 256 * 256;
}

// Replaces launch_boxes() for finishes that take sums as they come from the tensor cores (overloads
// in conv_stored_*.cuh): false for other finishes.
template <class Finish>
bool launch_stored(const BoxConv& /*plan*/, const ConvSizes& /*conv*/, const Finish& /*finish*/,
                   cudaStream_t /*stream*/) {
  return false;
}

template <class Finish>
std::int64_t launch_boxes_or_gemm(const ConvSizes& conv, const Finish& finish, void* workspace,
                                  bool is_hopper, cudaStream_t stream) {
  if (is_hopper) {
    if (std::optional<BoxConv> plan = plan_boxes(conv, multiprocessors())) {
      if (conv.zero_point != nullptr) {
        auto* sums = static_cast<std::int32_t*>(workspace);
        enqueue_zero_sums(conv, sums, stream);
        plan->zero_sums = sums;
      }
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
  if (const std::optional<DirectConv> plan = plan_direct(sizes)) {
    return launch_direct(*plan, sizes, finish, stream);
  }
  const bool is_hopper = has_box_instructions();
  if (takes_split(sizes) && is_aligned(sizes.q, 16) && is_aligned(sizes.w, 16)) {
    launch_split(sizes, finish, workspace, multiprocessors(), stream);
    return ceil_div(sizes.pixels, kPieceRows);
  }
  if (is_hopper && patch_bytes(sizes) > 0) sizes = enqueue_patches(sizes, workspace, stream);
  return launch_boxes_or_gemm(sizes, finish, workspace, is_hopper, stream);
}

}  // namespace qsim::golden::train::cuda
