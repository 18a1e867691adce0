// The linear layer of few rows: reading the weights is the work. A block takes tiles of 16 output
// channels. Each warp streams slices of their weights through a pipeline of its own, and multiplies
// them (rows of mma.m16n8k32) by the digits of one row of x (columns). From compute capability 9.0
// on the weights may start to arrive before the kernel before this one has ended.
#include "golden/device/launch.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/kernels/linear/cuda/linear_kernels.h"
#include "golden/kernels/linear/cuda/row_finish.cuh"
#include "golden/kernels/linear/cuda/row_multiplier.cuh"

namespace qsim::golden::cuda {
namespace {

static_assert(sizeof(RowFlags) <= 128, "the plan's header");

struct RowGrid {
  int tiles;
  int blocks_of_row;
};

// All warps add their slices of each tile, and some of them finish it.
template <int kBits, int kGroup, int kWarps>
__device__ void run_tiles(const RowPlan& plan, const RowTiles& tiles, std::uint8_t* shared,
                          RowMultiplier<kBits, kGroup, kWarps>& multiplier,
                          RowFinish<kBits, kGroup, kWarps>& finish) {
  using Finish = RowFinish<kBits, kGroup, kWarps>;
  int count = 0;
  for (int tile = tiles.first; tile < tiles.end; tile += tiles.step, ++count) {
    std::uint8_t* table = shared + plan.table_at + count % plan.tables * plan.table_bytes;
    multiplier.add_tile(tile, table);
    __syncthreads();
    if (Finish::turn() == count % Finish::kTurns) {
      finish.finish_sums(tile, reinterpret_cast<const std::int32_t*>(table));
      finish.load_constants(tile + Finish::kTurns * tiles.step);
    }
    if (plan.tables == 1) __syncthreads();
  }
}

// The same with groups: no warp waits for another one, but for a table that is not read yet. Each
// thread arrives for what it wrote or read itself: compute-sanitizer's racecheck follows no order
// that goes through another lane.
template <int kBits, int kGroup, int kWarps>
__device__ void run_grouped_tiles(const RowPlan& plan, const RowTiles& tiles, std::uint8_t* shared,
                                  RowFlags& flags, RowMultiplier<kBits, kGroup, kWarps>& multiplier,
                                  RowFinish<kBits, kGroup, kWarps>& finish) {
  using Finish = RowFinish<kBits, kGroup, kWarps>;
  int count = 0;
  for (int tile = tiles.first; tile < tiles.end; tile += tiles.step, ++count) {
    const int at = count % plan.tables;
    const auto parity = static_cast<std::uint32_t>(count / plan.tables % 2);
    std::uint8_t* table = shared + plan.table_at + at * plan.table_bytes;
    flags.table_empty[at].wait(parity ^ 1);
    multiplier.add_tile(tile, table);
    flags.table_full[at].arrive();
    if (Finish::turn() != count % Finish::kTurns) continue;
    flags.table_full[at].wait(parity);
    finish.finish_groups(tile, reinterpret_cast<const float2*>(table));
    flags.table_empty[at].arrive();
    finish.load_constants(tile + Finish::kTurns * tiles.step);
  }
}

template <int kBits, int kGroup, int kWarps>
__global__ void __launch_bounds__(32 * kWarps, kWarps == 8 ? 2 : 1)
    linear_rows(const __grid_constant__ LinearJob job, const __grid_constant__ RowPlan plan,
                const RowGrid grid) {
  std::uint8_t* shared = dynamic_shared();
  auto& flags = *reinterpret_cast<RowFlags*>(shared);
  start_next_kernel();
  const int row = static_cast<int>(blockIdx.x) / grid.blocks_of_row;
  const RowTiles tiles{static_cast<int>(blockIdx.x) % grid.blocks_of_row, grid.blocks_of_row,
                       grid.tiles};
  RowMultiplier<kBits, kGroup, kWarps> multiplier(job, plan, tiles, shared);
  RowFinish<kBits, kGroup, kWarps> finish(job, row, flags);
  if (!job.constant) wait_for_last_kernel();
  multiplier.begin();
  finish.load_constants(tiles.first + finish.turn() * tiles.step);
  prefetch_row(job, row);
  if (threadIdx.x == 0) flags.init(kWarps);
  __syncthreads();
  if (job.constant) wait_for_last_kernel();
  finish.set_exponent(prepare_row<kBits, kGroup>(job, plan, row, shared, flags));
  if constexpr (kGroup == 0) {
    run_tiles(plan, tiles, shared, multiplier, finish);
  } else {
    run_grouped_tiles(plan, tiles, shared, flags, multiplier, finish);
  }
}

using RowKernel = void (*)(LinearJob, RowPlan, RowGrid);

template <int kBits>
RowKernel kernel_for(std::int64_t group_size, int warps) {
  switch (group_size) {
    case 32:
      return linear_rows<kBits, 32, kGroupedRowWarps>;
    case 64:
      return linear_rows<kBits, 64, kGroupedRowWarps>;
    case 128:
      return linear_rows<kBits, 128, kGroupedRowWarps>;
    default:
      return warps == kFewRowWarps ? linear_rows<kBits, 0, kFewRowWarps>
                                   : linear_rows<kBits, 0, kManyRowWarps>;
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
  const RowKernel kernel = weights.bits == 8 ? kernel_for<8>(weights.group_size, plan.warps)
                                             : kernel_for<4>(weights.group_size, plan.warps);
  allow_all_shared_memory(kernel);
  launch_kernel("launching linear_rows", kernel, grid.blocks_of_row * call.rows, 32 * plan.warps,
                static_cast<std::size_t>(plan.shared_bytes), stream, job_of(weights, call), plan,
                grid);
}

}  // namespace qsim::golden::cuda
