// The linear layer with plain integer sums: a warp has one output channel of one row. For every
// device, size and alignment; not fast.
#include "golden/device/launch.cuh"
#include "golden/linear/cuda/linear_kernels.h"
#include "golden/linear/cuda/linear_values.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;

// The exponent of the row's step; all threads of the block return the same.
__device__ int row_exponent(const LinearJob& job, int row) {
  __shared__ std::uint32_t largest;
  if (job.x_type == FloatType::kFloat16) return step_exponent(job.x_type, 0);
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  std::uint32_t mine = 0;
  for (int k = static_cast<int>(threadIdx.x); k < job.in_features; k += kThreads) {
    const std::uint32_t bits = x_bits(job, std::int64_t{row} * job.in_features + k);
    if (is_finite(bits)) mine = max(mine, bits & kFp32Magnitude);
  }
  atomicMax(&largest, mine);
  __syncthreads();
  return step_exponent(job.x_type, largest);
}

__device__ std::int64_t sum_of_lanes(std::int64_t value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
  return value;
}

// x in steps = part.high * 2^24 + part.low, so that both sums fit 48 bits.
__device__ float group_sum(const LinearJob& job, int row, int channel, int group, double steps) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int begin = group * job.group_elems;
  const int end = min(begin + job.group_elems, job.in_features);
  WideSum sum{0, 0};
  bool finite = true;
  for (int k = begin + lane; k < end; k += 32) {
    const std::uint32_t bits = x_bits(job, std::int64_t{row} * job.in_features + k);
    if (!is_finite(bits)) {
      finite = false;
      continue;
    }
    const std::int64_t fixed = fixed_of(bits, steps);
    const int weight = weight_of(job, channel, group, k);
    sum.high += (fixed >> 24) * weight;
    sum.low += (fixed & 0xFFFFFF) * weight;
  }
  if (!__all_sync(0xFFFFFFFFu, finite)) return non_finite_terms(job, row, channel, group).value();
  return rounded({sum_of_lanes(sum.high), sum_of_lanes(sum.low)});
}

__global__ void __launch_bounds__(kThreads)
    linear_plain(const __grid_constant__ LinearJob job, int blocks_of_row) {
  begin_kernel();
  const int row = static_cast<int>(blockIdx.x) / blocks_of_row;
  const int exponent = row_exponent(job, row);
  const double steps = steps_of_one(exponent);
  const int channel =
      static_cast<int>(blockIdx.x) % blocks_of_row * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (channel >= job.out_features) return;
  float sum = 0;
  for (int group = 0; group < job.groups; ++group) {
    const float scale = __ldg(job.scales + std::int64_t{channel} * job.groups + group);
    sum = __fmaf_rn(group_sum(job, row, channel, group, steps), scale, sum);
  }
  if (threadIdx.x % 32 == 0) store_result(job, row, channel, sum, exponent);
}

}  // namespace

void launch_linear_plain(const DeviceWeights& weights, const LinearCall& call,
                         cudaStream_t stream) {
  const std::int64_t blocks = (weights.out_features + kWarps - 1) / kWarps;
  launch_kernel("launching linear_plain", linear_plain, blocks * call.rows, kThreads, 0, stream,
                job_of(weights, call), static_cast<int>(blocks));
}

}  // namespace qsim::golden::cuda
