// Weights through a ring of stages in shared memory, for linear_rows.cu.
#pragma once

#include "golden/device/hopper.cuh"
#include "golden/linear/cuda/row_digits.cuh"

namespace qsim::golden::cuda {

struct RowBarriers {
  MBarrier full[kRowMostStages];   // the stage's weights have come
  MBarrier empty[kRowMostStages];  // the four warps that read the stage have done so
};
static_assert(sizeof(RowBarriers) + sizeof(RowFlags) <= 512, "the plan's header");

struct RowGrid {
  int tiles;
  int blocks_of_row;
};

// Position in the ring of stages.
struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance(int stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

__device__ inline void copy_bulk(std::uint32_t to, const void* from, std::uint32_t bytes,
                                 MBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier.address())
      : "memory");
}

// The warp that copies: lane r has channel r of each tile.
template <int kBits>
__device__ inline void copy_weights(const LinearJob& job, const RowPlan& plan, const RowGrid& grid,
                                    std::uint8_t* shared, RowBarriers& barriers) {
  constexpr int kChunkBytes = kRowChunk * kBits / 8;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row_bytes = (job.in_features * kBits + 127) / 128 * 16;
  Ring ring;
  for (int tile = static_cast<int>(blockIdx.x) % grid.blocks_of_row; tile < grid.tiles;
       tile += grid.blocks_of_row) {
    const int channel = tile * kRowChannels + lane;
    const int channels = min(kRowChannels, job.out_features - tile * kRowChannels);
    const std::uint8_t* from = job.values + std::int64_t{channel} * job.row_bytes;
    for (int chunk = 0; chunk < plan.chunks; ++chunk) {
      const int bytes = min(kChunkBytes, row_bytes - chunk * kChunkBytes);
      MBarrier& full = barriers.full[ring.stage];
      barriers.empty[ring.stage].wait(ring.parity ^ 1);
      if (lane == 0) full.arrive_expecting(static_cast<std::uint32_t>(channels * bytes));
      __syncwarp();
      if (lane < channels) {
        const std::uint8_t* to =
            shared + plan.stages_at + ring.stage * plan.stage_bytes + lane * plan.stage_row_bytes;
        copy_bulk(shared_address(to), from + chunk * kChunkBytes, static_cast<std::uint32_t>(bytes),
                  full);
      }
      ring.advance(plan.stages);
    }
  }
}

}  // namespace qsim::golden::cuda
