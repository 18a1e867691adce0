// The linear layer of few rows: reading the weights is the work. A block takes tiles of 16 output
// channels. Each warp streams slices of their weights through a pipeline of its own, and multiplies
// them (rows of mma.m16n8k32) by the digits of one row of x (columns). From compute capability 9.0
// on the weights may start to arrive before the kernel before this one has ended.
#include "golden/device/launch.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/linear/cuda/linear_kernels.h"
#include "golden/linear/cuda/row_finish.cuh"
#include "golden/linear/cuda/row_multiplier.cuh"

namespace qsim::golden::cuda {
namespace {

static_assert(sizeof(RowFlags) <= 128, "the plan's header");

struct RowGrid {
  int tiles;
  int blocks_of_row;
};

template <int kBits, int kGroup>
__global__ void __launch_bounds__(kRowThreads, 2)
    linear_rows(const __grid_constant__ LinearJob job, const __grid_constant__ RowPlan plan,
                const RowGrid grid) {
  std::uint8_t* shared = dynamic_shared();
  auto& flags = *reinterpret_cast<RowFlags*>(shared);
  start_next_kernel();
  if (threadIdx.x < sizeof(RowFlags) / 4) reinterpret_cast<std::uint32_t*>(&flags)[threadIdx.x] = 0;
  const int row = static_cast<int>(blockIdx.x) / grid.blocks_of_row;
  const RowTiles tiles{static_cast<int>(blockIdx.x) % grid.blocks_of_row, grid.blocks_of_row,
                       grid.tiles};
  RowMultiplier<kBits, kGroup> multiplier(job, plan, tiles, shared);
  RowFinish<kBits, kGroup> finish(job, row, flags);
  if (!job.constant) wait_for_last_kernel();
  multiplier.begin();
  finish.load_constants(tiles.first);
  prefetch_row(job, row);
  if (job.constant) wait_for_last_kernel();
  __syncthreads();
  finish.set_exponent(prepare_row<kBits, kGroup>(job, plan, row, shared, flags));
  int count = 0;
  for (int tile = tiles.first; tile < tiles.end; tile += tiles.step, ++count) {
    std::uint8_t* table = shared + plan.table_at + count % plan.tables * plan.table_bytes;
    multiplier.add_tile(tile, table);
    finish.run(tile, count, table);
    finish.load_constants(tile + tiles.step);
    if (plan.tables == 1) __syncthreads();
  }
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
  allow_all_shared_memory(kernel);
  launch_kernel("launching linear_rows", kernel, grid.blocks_of_row * call.rows, kRowThreads,
                static_cast<std::size_t>(plan.shared_bytes), stream, job_of(weights, call), plan,
                grid);
}

}  // namespace qsim::golden::cuda
