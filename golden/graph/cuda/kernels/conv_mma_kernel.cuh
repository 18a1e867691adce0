// Convolution as an implicit GEMM on mma.sync: four stages of cp.async ahead of the tensor cores,
// and the fused output. One block computes one tile.
#pragma once

#include "golden/device/launch.cuh"
#include "golden/graph/cuda/kernels/conv_mma_load.cuh"
#include "golden/graph/cuda/kernels/conv_mma_store.cuh"

namespace qsim::golden::cuda {

// One stage: the warp's rows from `first_row` times its columns from `first_column`.
template <typename Tile, bool kUnsigned>
__device__ void multiply_stage(std::int32_t (&sums)[Tile::kRows / 16][Tile::kColumns / 8][4],
                               std::uint32_t shared, int first_row, int first_column) {
  const int lane = threadIdx.x % 32;
  const std::uint32_t shared_weights = shared + Tile::kM * kMmaDepth;
#pragma unroll
  for (int half = 0; half < kMmaDepth / 32; ++half) {
    std::uint32_t a[Tile::kRows / 16][4];
    std::uint32_t b[Tile::kColumns / 16][4];  // two column groups of 8: b[0..1] and b[2..3]
#pragma unroll
    for (int m = 0; m < Tile::kRows / 16; ++m) {
      load_matrices(
          a[m], shared + mma_chunk_offset(first_row + m * 16 + lane % 16, half * 2 + lane / 16));
    }
#pragma unroll
    for (int n = 0; n < Tile::kColumns / 16; ++n) {
      const int column = first_column + n * 16 + lane / 16 * 8 + lane % 8;
      load_matrices(b[n], shared_weights + mma_chunk_offset(column, half * 2 + lane / 8 % 2));
    }
#pragma unroll
    for (int m = 0; m < Tile::kRows / 16; ++m) {
#pragma unroll
      for (int n = 0; n < Tile::kColumns / 8; ++n) {
        multiply_a<kUnsigned>(sums[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
      }
    }
  }
}

template <typename Tile, bool kUnsigned, int kUnit, FinishKind kKind>
__global__ void __launch_bounds__(kMmaThreads, 2)
    conv_mma_kernel(const __grid_constant__ MmaConv conv) {
  begin_kernel();
  constexpr int kStageBytes = (Tile::kM + Tile::kN) * kMmaDepth;
  constexpr int kWarpColumns = Tile::kN / Tile::kColumns;
  const int column_tile = static_cast<int>(blockIdx.x % conv.column_tiles);
  const int first_pixel = static_cast<int>(blockIdx.x / conv.column_tiles) * Tile::kM;
  const int warp = threadIdx.x / 32;
  const int first_row = warp / kWarpColumns * Tile::kRows;
  const int first_column = warp % kWarpColumns * Tile::kColumns;

  std::uint8_t* memory = dynamic_shared();
  const std::uint32_t shared = to_shared(memory);
  MmaActivations<Tile, kUnit> activations(conv, first_pixel);
  // Fills the stage of `step`; beyond the last one it only keeps the count of groups.
  const auto fetch = [&](int step) {
    if (step < conv.depth_steps) {
      const int at = step % kMmaStages * kStageBytes;
      activations.load(shared + at, memory + at);
      load_mma_weights<Tile>(conv, column_tile, step, shared + at + Tile::kM * kMmaDepth);
    }
    commit_copies();
  };

  std::int32_t sums[Tile::kRows / 16][Tile::kColumns / 8][4] = {};
  for (int step = 0; step < kMmaStages - 1; ++step) fetch(step);
  for (int step = 0; step < conv.depth_steps; ++step) {
    wait_copies<kMmaStages - 2>();
    __syncthreads();  // stage `step` is whole, and every warp is done with the one before it
    fetch(step + kMmaStages - 1);
    multiply_stage<Tile, kUnsigned>(sums, shared + step % kMmaStages * kStageBytes, first_row,
                                    first_column);
  }

  const int lane = threadIdx.x % 32;
  const MmaStore<Tile, kKind> store(
      conv, first_pixel + first_row + lane / 4 * 4,
      column_tile * Tile::kN + first_column + lane % 4 * (Tile::kColumns / 4));
  store.store(sums);
}

}  // namespace qsim::golden::cuda
