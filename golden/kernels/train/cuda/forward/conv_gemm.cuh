// An int8 convolution of any sizes as an implicit GEMM on mma.sync, and the finish of its sums. A
// block computes 64 pixels times 64 channels.
#pragma once

#include <algorithm>

#include "core/base/checked_math.h"
#include "golden/kernels/train/cuda/forward/conv_gemm_load.cuh"

namespace qsim::golden::train::cuda {

template <class Finish, bool kWhole>
__global__ void __launch_bounds__(kMmaThreads)
    conv_gemm(const __grid_constant__ ConvSizes conv, const __grid_constant__ Finish finish,
              int column_tiles, int depth_steps) {
  begin_kernel();
  constexpr int kStageBytes = (GemmTile::kM + GemmTile::kN) * kMmaDepth;
  using Sums = PieceSums<Finish::kRowsInnermost>;
  static_assert(kMmaThreads == kFinishThreads && GemmTile::kM == kPieceRows &&
                GemmTile::kN == kPieceColumns);
  __shared__ __align__(16) std::uint8_t memory[std::max<int>(2 * kStageBytes, sizeof(Sums))];
  __shared__ std::int32_t weight_sums[kPieceColumns];
  __shared__ PieceFrame frame;
  const int column_tile = static_cast<int>(blockIdx.x) % column_tiles;
  const int tile = static_cast<int>(blockIdx.x) / column_tiles;
  const int group = tile % conv.groups;
  const int row_tile = tile / conv.groups;
  const int first_pixel = row_tile * kPieceRows;
  const int first_column = column_tile * kPieceColumns;
  const int warp_row = static_cast<int>(threadIdx.x) / 64 * GemmTile::kRows;
  const int warp_column = static_cast<int>(threadIdx.x) / 32 % 2 * GemmTile::kColumns;
  const int zero_point = conv.zero_point == nullptr ? 0 : *conv.zero_point;
  if (threadIdx.x < kPieceRows) {
    const int pixel = first_pixel + static_cast<int>(threadIdx.x);
    frame.set_row(conv, finish, static_cast<int>(threadIdx.x), pixel < conv.pixels ? pixel : -1);
  }

  if constexpr (Finish::kHasColumnValues) {
    const int column = static_cast<int>(threadIdx.x) - kPieceRows;
    if (column >= 0 && first_column + column < conv.columns) {
      frame.set_column(finish, column, group * conv.columns + first_column + column);
    }
  }

  GemmLoader<kWhole> loader(conv, zero_point, first_pixel, group, first_column);
  std::int32_t sums[GemmTile::kRows / 16][GemmTile::kColumns / 8][4] = {};
  if (depth_steps > 0) {
    loader.fetch();
    loader.store(memory);
  }
  __syncthreads();
  for (int step = 0; step < depth_steps; ++step) {
    if (step + 1 < depth_steps) loader.fetch();
    multiply_stage<GemmTile, false>(sums, to_shared(memory + step % 2 * kStageBytes), warp_row,
                                    warp_column);
    if (step + 1 < depth_steps) loader.store(memory + (step + 1) % 2 * kStageBytes);
    __syncthreads();
  }
  loader.store_weight_sums(weight_sums);
  __syncthreads();

  auto& piece_sums = *reinterpret_cast<Sums*>(memory);
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int m = 0; m < GemmTile::kRows / 16; ++m) {
#pragma unroll
    for (int n = 0; n < GemmTile::kColumns / 8; ++n) {
      const int row = warp_row + m * 16 + lane / 4;
      const int column = warp_column + n * 8 + lane % 4 * 2;
      // The zero_point's part of the sums, mod 2^32.
      const auto fold = [&](int c) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(zero_point) *
                                         static_cast<std::uint32_t>(weight_sums[column + c]));
      };
      const auto less = [](std::int32_t a, std::int32_t b) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) -
                                         static_cast<std::uint32_t>(b));
      };
      piece_sums.put(row, column, less(sums[m][n][0], fold(0)), less(sums[m][n][1], fold(1)));
      piece_sums.put(row + 8, column, less(sums[m][n][2], fold(0)), less(sums[m][n][3], fold(1)));
    }
  }
  __syncthreads();
  const Piece piece{frame, group * conv.columns + first_column,
                    min(kPieceColumns, conv.columns - first_column), static_cast<int>(threadIdx.x)};
  typename Finish::State state;
  finish.run(conv, piece_sums, piece, state);
  finish.end(conv, state, piece, row_tile);
}

template <class Finish>
void launch_gemm(const ConvSizes& conv, const Finish& finish, cudaStream_t stream) {
  const bool whole =
      conv.channels % kMmaChunk == 0 && is_aligned(conv.q, 16) && is_aligned(conv.w, 16);
  const auto column_tiles = static_cast<int>(ceil_div(conv.columns, kPieceColumns));
  const std::int64_t depth = std::int64_t{conv.kernel_h} * conv.kernel_w * conv.channels;
  const auto depth_steps = static_cast<int>(ceil_div(depth, kMmaDepth));
  const std::int64_t blocks =
      ceil_div(conv.pixels, kPieceRows) * conv.groups * std::int64_t{column_tiles};
  launch_kernel("launching a convolution",
                whole ? conv_gemm<Finish, true> : conv_gemm<Finish, false>, blocks, kMmaThreads, 0,
                stream, conv, finish, column_tiles, depth_steps);
}

}  // namespace qsim::golden::train::cuda
