// The linear layer of several rows of x. A block takes up to 16 tiles of 16 output channels, two a
// warp, and 8 or 16 rows of x. Slices of the weights come through a pipeline of each warp; the
// slices of x become digits in shared memory, in turn with the products (mma.m16n8k32). Digits that
// are 0 in a slice of all rows are left out.
#include "golden/device/launch.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/kernels/linear/cuda/batch_multiplier.cuh"
#include "golden/kernels/linear/cuda/linear_kernels.h"

namespace qsim::golden::cuda {
namespace {

static_assert(sizeof(BatchFlags) <= 512, "the plan's header");

struct BatchGrid {
  int tiles;
  int tiles_of_block;
  int x_groups;  // of 8 or 16 rows
  int rows;
};

// Rows whose x are not all finite, plainly.
template <int kXRows>
__device__ void finish_non_finite(const LinearJob& job, const BatchRows& rows,
                                  const BatchTiles& tiles, const BatchFlags& flags) {
  for (int m = 0; m < rows.count; ++m) {
    if ((flags.non_finite >> m & 1) == 0) continue;
    const int exponent = flags.exponents[m];
    for (int i = 0; i < kBatchTiles * kRowChannels; ++i) {
      const int tile = tiles.tile(i / kRowChannels);
      const int channel = tile * kRowChannels + i % kRowChannels;
      if (tile >= tiles.end || channel >= job.out_features) continue;
      const float sum = plain_sum(job, rows.first + m, channel, steps_of_one(exponent));
      if (threadIdx.x % 32 == 0) {
        store_result(job, rows.first + m, channel, sum, exponent, bias_of(job, channel));
      }
    }
  }
}

template <int kBits, int kGroup, int kXRows>
__global__ void __launch_bounds__(kBatchThreads, 1)
    linear_batch(const __grid_constant__ LinearJob job, const __grid_constant__ BatchPlan plan,
                 const BatchGrid grid) {
  std::uint8_t* shared = dynamic_shared();
  auto& flags = *reinterpret_cast<BatchFlags*>(shared);
  start_next_kernel();
  if (threadIdx.x < sizeof(BatchFlags) / 4) {
    reinterpret_cast<std::uint32_t*>(&flags)[threadIdx.x] = 0;
  }
  const int first_tile = static_cast<int>(blockIdx.x) / grid.x_groups * grid.tiles_of_block;
  const int first_row = static_cast<int>(blockIdx.x) % grid.x_groups * kXRows;
  const BatchTiles tiles{first_tile + static_cast<int>(threadIdx.x) / 32,
                         min(first_tile + grid.tiles_of_block, grid.tiles)};
  const BatchRows rows{first_row, min(kXRows, grid.rows - first_row)};
  BatchMultiplier<kBits, kGroup, kXRows> multiplier(job, plan, tiles, shared);
  BatchDigits<kBits, kXRows> digits(job, plan, rows, shared, flags);
  if (!job.constant) wait_for_last_kernel();
  multiplier.begin();
  if (job.constant) wait_for_last_kernel();
  __syncthreads();
  digits.find_exponents();
  digits.load(0);
  digits.store(0);
  __syncthreads();
  for (int slice = 0; slice < plan.slices; ++slice) {
    const bool is_last = slice + 1 == plan.slices;
    if (!is_last) digits.load(slice + 1);
    multiplier.add_slice(slice, flags.high_digits[slice % 3]);
    if (!is_last) digits.store(slice + 1);
    __syncthreads();
  }
  multiplier.finish([&](int m, int channel, float sum, float bias) {
    if (m >= rows.count || (flags.non_finite >> m & 1) != 0) return;
    store_result(job, rows.first + m, channel, sum, flags.exponents[m], bias);
  });
  if (flags.non_finite != 0) finish_non_finite<kXRows>(job, rows, tiles, flags);
}

template <int kBits, int kXRows>
auto kernel_for(std::int64_t group_size) {
  switch (group_size) {
    case 32:
      return linear_batch<kBits, 32, kXRows>;
    case 64:
      return linear_batch<kBits, 64, kXRows>;
    case 128:
      return linear_batch<kBits, 128, kXRows>;
    default:
      return linear_batch<kBits, 0, kXRows>;
  }
}

auto kernel_for(int bits, std::int64_t group_size, int x_rows) {
  if (bits == 8) return x_rows == 8 ? kernel_for<8, 8>(group_size) : kernel_for<8, 16>(group_size);
  return x_rows == 8 ? kernel_for<4, 8>(group_size) : kernel_for<4, 16>(group_size);
}

}  // namespace

int batch_x_rows(std::int64_t rows) { return rows <= 8 ? 8 : 16; }

void launch_linear_batch(const DeviceWeights& weights, const LinearCall& call,
                         const BatchPlan& plan, cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "asking for the number of multiprocessors");
  const int x_rows = batch_x_rows(call.rows);
  BatchGrid grid{};
  grid.tiles = static_cast<int>((weights.out_features + kRowChannels - 1) / kRowChannels);
  grid.rows = static_cast<int>(call.rows);
  grid.x_groups = (grid.rows + x_rows - 1) / x_rows;
  const std::int64_t work = std::int64_t{grid.tiles} * grid.x_groups;
  grid.tiles_of_block = static_cast<int>(
      std::min<std::int64_t>((work + multiprocessors - 1) / multiprocessors, kBatchMostTiles));
  const std::int64_t blocks =
      std::int64_t{(grid.tiles + grid.tiles_of_block - 1) / grid.tiles_of_block} * grid.x_groups;
  const auto kernel = kernel_for(weights.bits, weights.group_size, x_rows);
  allow_all_shared_memory(kernel);
  launch_kernel("launching linear_batch", kernel, blocks, kBatchThreads,
                static_cast<std::size_t>(plan.shared_bytes), stream, job_of(weights, call), plan,
                grid);
}

}  // namespace qsim::golden::cuda
