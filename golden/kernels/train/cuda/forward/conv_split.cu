#include <algorithm>

#include "golden/device/shared_memory.cuh"
#include "golden/kernels/train/cuda/forward/conv_gemm_load.cuh"
#include "golden/kernels/train/cuda/forward/conv_split.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kSplitStages = 8;
constexpr int kSplitStageBytes = (GemmTile::kM + GemmTile::kN) * kMmaDepth;

// Rows of q and of the weights, whole chunks of `depth` bytes.
__global__ void __launch_bounds__(kMmaThreads)
    multiply_split(const __grid_constant__ ConvSizes conv, int column_tiles, int row_tiles,
                   int steps_of_block, std::int32_t* sums) {
  begin_kernel();
  const int column_tile = static_cast<int>(blockIdx.x) % column_tiles;
  const int row_tile = static_cast<int>(blockIdx.x) / column_tiles % row_tiles;
  const int part = static_cast<int>(blockIdx.x) / column_tiles / row_tiles;
  const int depth = conv.channels;
  const int first_step = part * steps_of_block;
  const int steps = min(steps_of_block, (depth + kMmaDepth - 1) / kMmaDepth - first_step);
  const int thread = static_cast<int>(threadIdx.x);
  const std::uint32_t shared = to_shared(dynamic_shared());
  // Starts the copies of a stage; beyond the last one it only keeps the count of groups.
  const auto fetch = [&](int step) {
    const std::uint32_t to =
        shared + static_cast<std::uint32_t>(step % kSplitStages * kSplitStageBytes);
    const int at = (first_step + step) * kMmaDepth + thread % kMmaChunks * kMmaChunk;
#pragma unroll
    for (int i = 0; i < 64 * kMmaChunks / kMmaThreads && step < steps; ++i) {
      const int row = thread / kMmaChunks + i * (kMmaThreads / kMmaChunks);
      const auto offset = static_cast<std::uint32_t>(mma_chunk_offset(row, thread % kMmaChunks));
      const int pixel = row_tile * 64 + row;
      const int column = column_tile * 64 + row;
      const bool has_pixel = pixel < conv.pixels && at < depth;
      const bool has_column = column < conv.columns && at < depth;
      copy_if<16>(has_pixel ? 1 : 0,
                  reinterpret_cast<const std::uint8_t*>(conv.q) +
                      (has_pixel ? std::int64_t{pixel} * depth + at : 0),
                  to + offset);
      copy_if<16>(has_column ? 1 : 0,
                  reinterpret_cast<const std::uint8_t*>(conv.w) +
                      (has_column ? std::int64_t{column} * depth + at : 0),
                  to + GemmTile::kM * kMmaDepth + offset);
    }
    commit_copies();
  };
  const int warp_row = thread / 64 * GemmTile::kRows;
  const int warp_column = thread / 32 % 2 * GemmTile::kColumns;
  std::int32_t own[GemmTile::kRows / 16][GemmTile::kColumns / 8][4] = {};
  for (int step = 0; step < kSplitStages - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    wait_copies<kSplitStages - 2>();
    __syncthreads();  // stage `step` is whole, and every warp is done with the one before it
    fetch(step + kSplitStages - 1);
    multiply_stage<GemmTile, false>(
        own, shared + static_cast<std::uint32_t>(step % kSplitStages * kSplitStageBytes), warp_row,
        warp_column);
  }
  const int lane = thread % 32;
#pragma unroll
  for (int m = 0; m < GemmTile::kRows / 16; ++m) {
#pragma unroll
    for (int n = 0; n < GemmTile::kColumns / 8; ++n) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int pixel = row_tile * 64 + warp_row + m * 16 + lane / 4 + k / 2 * 8;
        const int column = column_tile * 64 + warp_column + n * 8 + lane % 4 * 2 + k % 2;
        if (pixel >= conv.pixels || column >= conv.columns) continue;
        atomicAdd(sums + std::int64_t{pixel} * conv.columns + column, own[m][n][k]);
      }
    }
  }
}

}  // namespace

bool takes_split(const ConvSizes& conv) {
  constexpr int kMostPixels = 128;
  constexpr int kFewestDepth = 1024;
  return conv.groups == 1 && conv.zero_point == nullptr && conv.pixels <= kMostPixels &&
         conv.kernel_h == 1 && conv.kernel_w == 1 && conv.height == conv.out_height &&
         conv.width == conv.out_width && conv.stride_h == 1 && conv.stride_w == 1 &&
         conv.channels >= kFewestDepth && conv.channels % kMmaChunk == 0;
}

std::size_t split_workspace_bytes(const ConvSizes& conv) {
  return takes_split(conv) ? static_cast<std::size_t>(conv.pixels) *
                                 static_cast<std::size_t>(conv.columns) * sizeof(std::int32_t)
                           : 0;
}

void enqueue_split_sums(const ConvSizes& conv, void* workspace, int multiprocessors, void* stream) {
  constexpr int kBlocksOfMultiprocessor = 3;  // as the stages let them
  auto* const on = static_cast<cudaStream_t>(stream);
  auto* sums = static_cast<std::int32_t*>(workspace);
  const auto column_tiles = static_cast<int>(ceil_div(conv.columns, 64));
  const auto row_tiles = static_cast<int>(ceil_div(conv.pixels, 64));
  const auto steps = static_cast<int>(ceil_div(conv.channels, kMmaDepth));
  const std::int64_t tiles = std::int64_t{column_tiles} * row_tiles;
  const std::int64_t parts = std::clamp<std::int64_t>(
      kBlocksOfMultiprocessor * multiprocessors / tiles, 1, std::max(steps / kSplitStages, 1));
  const auto steps_of_block = static_cast<int>(ceil_div(steps, parts));
  check(cudaMemsetAsync(sums, 0, split_workspace_bytes(conv), on), "clearing sums");
  allow_all_shared_memory(multiply_split);
  launch_kernel("launching a convolution", multiply_split, tiles * ceil_div(steps, steps_of_block),
                kMmaThreads, kSplitStages * kSplitStageBytes, on, conv, column_tiles, row_tiles,
                steps_of_block, sums);
}

}  // namespace qsim::golden::train::cuda
