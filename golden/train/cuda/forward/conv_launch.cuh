// Which kernel computes a convolution's sums.
#pragma once

#include "golden/train/cuda/forward/conv_boxes.cuh"
#include "golden/train/cuda/forward/conv_gemm.cuh"

namespace qsim::golden::train::cuda {

// How many pieces of rows a kernel has at most.
inline std::int64_t most_piece_rows(const LevelConv& conv) {
  const ImageShape& y = conv.y_shape;
  const std::int64_t squares = y.batch * ceil_div(y.height, 8) * ceil_div(y.width, 8);
  return std::max(ceil_div(conv.pixels(), kPieceRows), squares);
}

// Enqueues the kernel whose sums `finish` finishes; nothing where there are no sums. Returns how
// many pieces of rows it has: each Piece::tile below that comes once with each column.
template <class Finish>
std::int64_t launch_conv(const LevelConv& conv, const Finish& finish, cudaStream_t stream) {
  const ConvSizes sizes = conv_sizes(conv);
  if (sizes.pixels == 0 || sizes.all_columns == 0) return 0;
  const int multiprocessors = box_multiprocessors();
  if (const std::optional<BoxConv> plan = plan_boxes(sizes, multiprocessors)) {
    launch_boxes(*plan, sizes, finish, multiprocessors, stream);
    return plan->units;
  }
  launch_gemm(sizes, finish, stream);
  return ceil_div(sizes.pixels, kPieceRows);
}

}  // namespace qsim::golden::train::cuda
