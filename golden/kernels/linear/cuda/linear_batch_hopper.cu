// The linear layer of several rows of x and 8-bit weights with wgmma (compute capability 9.0). A
// block has up to 256 output channels and 8 or 16 rows of x. The copy engine brings slices of the
// weights, eight warps turn slices of x into digits, and two warpgroups multiply them.
#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_map.h"
#include "golden/kernels/linear/cuda/hopper_multiplier.cuh"
#include "golden/kernels/linear/cuda/linear_kernels.h"

namespace qsim::golden::cuda {
namespace {

struct HopperGrid {
  int x_groups;  // of 8 or 16 rows
  int rows;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Rows whose x are not all finite, plainly, by the multiplying warps.
__device__ void finish_non_finite(const LinearJob& job, const BatchRows& rows,
                                  const HopperShared& state, int first_channel, int end_channel) {
  for (int m = 0; m < rows.count; ++m) {
    if ((state.non_finite >> m & 1) == 0) continue;
    const int exponent = state.exponents[m];
    for (int channel = first_channel + static_cast<int>(threadIdx.x) / 32; channel < end_channel;
         channel += kHopperMultipliers) {
      const float sum = plain_sum(job, rows.first + m, channel, steps_of_one(exponent));
      if (threadIdx.x % 32 == 0) {
        store_result(job, rows.first + m, channel, sum, exponent, bias_of(job, channel));
      }
    }
  }
}

__device__ void init(HopperShared& state, int stages) {
  for (int i = 0; i < stages; ++i) {
    state.weights_full[i].init(1);
    state.weights_empty[i].init(kHopperMultipliers);
  }
  for (int i = 0; i < kHopperDigitBuffers; ++i) {
    state.digits_full[i].init(kHopperConverters);
    state.digits_empty[i].init(kHopperMultipliers);
  }
  state.non_finite = 0;
  fence_barrier_init();
}

#endif

template <int kXRows, int kTiles>
__global__ void __launch_bounds__(kHopperThreads, 1)
    linear_batch_hopper(const __grid_constant__ LinearJob job,
                        const __grid_constant__ CUtensorMap map,
                        const __grid_constant__ HopperPlan plan, const HopperGrid grid) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  std::uint8_t* shared = dynamic_shared();
  shared += (1024 - shared_address(shared) % 1024) % 1024;
  auto& state = *reinterpret_cast<HopperShared*>(shared);
  start_next_kernel();
  if (threadIdx.x == 0) init(state, plan.stages);
  __syncthreads();
  const int first_channel = static_cast<int>(blockIdx.x) / grid.x_groups * plan.channels;
  const int end_channel = min(first_channel + plan.channels, job.out_features);
  const int first_row = static_cast<int>(blockIdx.x) % grid.x_groups * kXRows;
  const BatchRows rows{first_row, min(kXRows, grid.rows - first_row)};
  const std::uint32_t stages = shared_address(shared + plan.stages_at);
  const int warp = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp < kHopperMultipliers) {
    const HopperCopies copies{map, plan, state, stages, first_channel};
    if (threadIdx.x == 0 && job.constant) copies.begin();
    wait_for_last_kernel();
    if (threadIdx.x == 0 && !job.constant) copies.begin();
    __syncwarp();
    HopperMultiplier<kXRows, kTiles> multiplier{
        job, plan, state, shared_address(shared + plan.digits_at), stages, warp / 4};
    multiplier.run(copies);
    multiplier.finish(rows, first_channel, end_channel);
    if (state.non_finite != 0) finish_non_finite(job, rows, state, first_channel, end_channel);
  } else {
    wait_for_last_kernel();
    HopperConverter<kXRows> converter{job,
                                      plan,
                                      rows,
                                      state,
                                      shared + plan.digits_at,
                                      shared + plan.rows_at,
                                      (warp - kHopperMultipliers) / kHopperConverters,
                                      static_cast<int>(threadIdx.x) % (32 * kHopperConverters)};
    converter.run();
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

}  // namespace

bool has_hopper_batch(const DeviceWeights& weights, const HopperPlan& plan) {
  int device = 0;
  int major = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "asking for the compute capability");
  return major == 9 && weights.bits == 8 && weights.group_size == 0 && has_aligned_rows(weights) &&
         plan.stages >= 2;
}

void launch_linear_batch_hopper(const DeviceWeights& weights, const LinearCall& call,
                                const HopperPlan& plan, cudaStream_t stream) {
  const int x_rows = batch_x_rows(call.rows);
  HopperGrid grid{};
  grid.rows = static_cast<int>(call.rows);
  grid.x_groups = (grid.rows + x_rows - 1) / x_rows;
  const std::int64_t blocks =
      (weights.out_features + plan.channels - 1) / plan.channels * grid.x_groups;
  const CUtensorMap map = make_tensor_map(weights.values,
                                          {static_cast<std::uint64_t>(weights.in_features),
                                           static_cast<std::uint64_t>(weights.out_features)},
                                          {kHopperSlice, static_cast<std::uint32_t>(plan.channels)},
                                          {static_cast<std::uint64_t>(weights.row_bytes)});
  const auto kernel =
      x_rows == 8 ? (plan.tiles == 1 ? linear_batch_hopper<8, 1> : linear_batch_hopper<8, 2>)
                  : (plan.tiles == 1 ? linear_batch_hopper<16, 1> : linear_batch_hopper<16, 2>);
  allow_all_shared_memory(kernel);
  launch_kernel("launching linear_batch_hopper", kernel, blocks, kHopperThreads,
                static_cast<std::size_t>(plan.shared_bytes), stream, job_of(weights, call), map,
                plan, grid);
}

}  // namespace qsim::golden::cuda
