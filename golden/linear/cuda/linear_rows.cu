// The linear layer of few rows on compute capability 9.0: reading the weights is the work. A block
// takes tiles of 16 output channels. One warp streams their weights through a pipeline of bulk
// copies; eight warps multiply them (rows of mma.m16n8k32) by the digits of one row of x (columns).
// The weights may start to arrive before the kernel before this one has ended.
#include "golden/linear/cuda/linear_kernels.h"
#include "golden/linear/cuda/row_finish.cuh"
#include "golden/linear/cuda/row_multiplier.cuh"
#include "golden/linear/cuda/row_pipeline.cuh"

namespace qsim::golden::cuda {
namespace {

template <int kBits, int kGroup>
__device__ void multiply_tiles(const LinearJob& job, const RowPlan& plan, const RowGrid& grid,
                               std::uint8_t* shared, RowBarriers& barriers, RowFlags& flags) {
  const int row = static_cast<int>(blockIdx.x) / grid.blocks_of_row;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int slice = warp % 4;
  const int exponent = prepare_row<kBits, kGroup>(job, plan, row, shared, flags);
  const RowFinish<kBits, kGroup> finish(job, row, exponent, flags);
  RowMultiplier<kBits, kGroup> multiplier(job, plan, shared);
  Ring ring;
  int team = 0;  // the four warps that have this stage
  int count = 0;
  for (int tile = static_cast<int>(blockIdx.x) % grid.blocks_of_row; tile < grid.tiles;
       tile += grid.blocks_of_row, ++count) {
    std::uint8_t* table = shared + plan.table_at + count % plan.tables * plan.table_bytes;
    multiplier.clear();
    for (int chunk = 0; chunk < plan.chunks; ++chunk) {
      if (team == warp / 4) {
        barriers.full[ring.stage].wait(ring.parity);
        const int k = chunk * kRowChunk + slice * kRowSlice;
        if (k < plan.padded_features) {
          const std::uint8_t* rows = shared + plan.stages_at + ring.stage * plan.stage_bytes +
                                     slice * (kRowSlice * kBits / 8);
          multiplier.add_slice(rows, k, tile, table);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) barriers.empty[ring.stage].arrive();
      }
      team ^= 1;
      ring.advance(plan.stages);
    }
    if constexpr (kGroup == 0) multiplier.store_sums(table);
    finish.run(tile, count, table);
    if (plan.tables == 1) consumers_sync();
  }
}

template <int kBits, int kGroup>
__global__ void __launch_bounds__(kRowThreads, 2)
    linear_rows(const __grid_constant__ LinearJob job, const __grid_constant__ RowPlan plan,
                const RowGrid grid) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  std::uint8_t* shared = dynamic_shared();
  auto& barriers = *reinterpret_cast<RowBarriers*>(shared);
  auto& flags = *reinterpret_cast<RowFlags*>(shared + sizeof(RowBarriers));
  start_next_kernel();
  if (threadIdx.x < sizeof(RowFlags) / 4) reinterpret_cast<std::uint32_t*>(&flags)[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < plan.stages; ++i) {
      barriers.full[i].init(1);
      barriers.empty[i].init(4);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= kRowConsumers) {
    if (!job.constant) wait_for_last_kernel();
    copy_weights<kBits>(job, plan, grid, shared, barriers);
  } else {
    wait_for_last_kernel();
    multiply_tiles<kBits, kGroup>(job, plan, grid, shared, barriers, flags);
  }
#else
  __trap();  // bulk copies need compute capability 9.0
#endif
}

template <int kBits>
auto kernel_for(std::int64_t group_size) {
  switch (group_size) {
    case 32:
      return linear_rows<kBits, 32>;
    case 64:
      return linear_rows<kBits, 64>;
    case 128:
      return linear_rows<kBits, 128>;
    default:
      return linear_rows<kBits, 0>;
  }
}

}  // namespace

bool has_aligned_rows(const DeviceWeights& weights) {
  const std::int64_t bytes = (weights.in_features * weights.bits + 127) / 128 * 16;
  return reinterpret_cast<std::uintptr_t>(weights.values) % 16 == 0 &&
         weights.row_bytes % 16 == 0 && weights.readable_bytes >= bytes;
}

void launch_linear_rows(const DeviceWeights& weights, const LinearCall& call, const RowPlan& plan,
                        cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "asking for the number of multiprocessors");
  RowGrid grid{};
  grid.tiles = static_cast<int>((weights.out_features + kRowChannels - 1) / kRowChannels);
  grid.blocks_of_row = std::min(grid.tiles, multiprocessors);
  const auto kernel =
      weights.bits == 8 ? kernel_for<8>(weights.group_size) : kernel_for<4>(weights.group_size);
  check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes),
      "reserving shared memory");
  launch_kernel("launching linear_rows", kernel, grid.blocks_of_row * call.rows, kRowThreads,
                static_cast<std::size_t>(plan.shared_bytes), stream, job_of(weights, call), plan,
                grid);
}

}  // namespace qsim::golden::cuda
