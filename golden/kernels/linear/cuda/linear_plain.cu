// The linear layer with plain integer sums: a warp has one output channel of one row. For every
// device, size and alignment; not fast.
#include "golden/device/launch.cuh"
#include "golden/kernels/linear/cuda/linear_kernels.h"
#include "golden/kernels/linear/cuda/linear_values.cuh"

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

__global__ void __launch_bounds__(kThreads, 4)
    linear_plain(const __grid_constant__ LinearJob job, int blocks_of_row) {
  begin_kernel();
  const int row = static_cast<int>(blockIdx.x) / blocks_of_row;
  const int exponent = row_exponent(job, row);
  const double steps = steps_of_one(exponent);
  const int channel =
      static_cast<int>(blockIdx.x) % blocks_of_row * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (channel >= job.out_features) return;
  const float sum = plain_sum(job, row, channel, steps);
  if (threadIdx.x % 32 == 0) {
    store_result(job, row, channel, sum, exponent, bias_of(job, channel));
  }
}

}  // namespace

void launch_linear_plain(const DeviceWeights& weights, const LinearCall& call,
                         cudaStream_t stream) {
  const std::int64_t blocks = (weights.out_features + kWarps - 1) / kWarps;
  launch_kernel("launching linear_plain", linear_plain, blocks * call.rows, kThreads, 0, stream,
                job_of(weights, call), static_cast<int>(blocks));
}

}  // namespace qsim::golden::cuda
