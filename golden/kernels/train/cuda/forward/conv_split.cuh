// Few rows times many weights (a linear layer on a small batch): the depth is divided among blocks,
// which add their sums to int32 in the workspace; a second kernel finishes them. Integer sums do
// not depend on the order.
#pragma once

#include "core/base/checked_math.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

using namespace golden::cuda;

// Whether it is taken; depends on the shape alone, but for the alignment of the tensors.
bool takes_split(const ConvSizes& conv);
std::size_t split_workspace_bytes(const ConvSizes& conv);
// Enqueues the kernels that leave the sums [pixels][columns] in the workspace.
void enqueue_split_sums(const ConvSizes& conv, void* workspace, int multiprocessors, void* stream);

// A piece a block.
template <class Finish>
__global__ void __launch_bounds__(kFinishThreads)
    finish_split(const __grid_constant__ ConvSizes conv, const __grid_constant__ Finish finish,
                 int column_tiles, const std::int32_t* sums) {
  begin_kernel();
  __shared__ PieceSums<Finish::kRowsInnermost> piece_sums;
  __shared__ PieceFrame frame;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * kPieceColumns;
  const int row_tile = static_cast<int>(blockIdx.x) / column_tiles;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kPieceRows) {
    const int pixel = row_tile * kPieceRows + thread;
    frame.set_row(conv, finish, thread, pixel < conv.pixels ? pixel : -1);
  } else if constexpr (Finish::kHasColumnValues) {
    const int column = thread - kPieceRows;
    if (first_column + column < conv.columns) {
      frame.set_column(finish, column, first_column + column);
    }
  }
  for (int i = thread; i < kPieceRows * kPieceColumns / 2; i += kFinishThreads) {
    const int pixel = row_tile * kPieceRows + i / 32;
    const int column = first_column + i % 32 * 2;
    const std::int32_t* from = sums + std::int64_t{pixel} * conv.columns + column;
    const bool has = pixel < conv.pixels;
    piece_sums.put(i / 32, i % 32 * 2, has && column < conv.columns ? from[0] : 0,
                   has && column + 1 < conv.columns ? from[1] : 0);
  }
  __syncthreads();
  const Piece piece{frame, first_column, min(kPieceColumns, conv.columns - first_column), thread};
  typename Finish::State state;
  finish.run(conv, piece_sums, piece, state);
  finish.end(conv, state, piece, row_tile);
}

template <class Finish>
void launch_split(const ConvSizes& conv, const Finish& finish, void* workspace, int multiprocessors,
                  cudaStream_t stream) {
  enqueue_split_sums(conv, workspace, multiprocessors, stream);
  const auto column_tiles = static_cast<int>(ceil_div(conv.columns, kPieceColumns));
  launch_kernel("launching a convolution", finish_split<Finish>,
                ceil_div(conv.pixels, kPieceRows) * column_tiles, kFinishThreads, 0, stream, conv,
                finish, column_tiles, static_cast<const std::int32_t*>(workspace));
}

}  // namespace qsim::golden::train::cuda
