// Rows of x to int8 codes with a scale each: a block a row. And the plain product.
#include "golden/kernels/linear/cuda/int8_values.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) int8_codes(const __grid_constant__ Int8Job job) {
  __shared__ std::uint32_t largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  begin_kernel();
  const std::int64_t row = blockIdx.x;
  const std::uint32_t mine = job.static_scale != 0 ? 0 : largest_of_thread(job, row);
  const RowScale scale(job, largest_of_block(mine, &largest));
  if (threadIdx.x == 0) job.row_scales[row] = scale.scale();
  store_codes(job, row, scale, job.codes + row * job.code_stride);
}

// A warp for each result.
__global__ void __launch_bounds__(kThreads) int8_plain(const __grid_constant__ Int8Job job) {
  begin_kernel();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t count = job.rows * job.out_features;
  for (std::int64_t i = grid_thread() / 32; i < count; i += grid_threads() / 32) {
    const std::int64_t row = i / job.out_features;
    const auto channel = static_cast<int>(i % job.out_features);
    const auto* weights =
        reinterpret_cast<const std::int8_t*>(job.weights + channel * job.row_bytes);
    const std::int8_t* codes = job.codes + row * job.code_stride;
    std::int32_t sum = 0;
    for (int k = lane; k < job.in_features; k += 32) sum += codes[k] * weights[k];
    sum = __reduce_add_sync(0xFFFFFFFFu, sum);
    if (lane == 0) store_sum(job, row, channel, sum, job.row_scales[row]);
  }
}

}  // namespace

void launch_int8_codes(const Int8Job& job, cudaStream_t stream) {
  launch_kernel("launching int8_codes", int8_codes, job.rows, kThreads, 0, stream, job);
}

void launch_int8_plain(const Int8Job& job, cudaStream_t stream) {
  launch_kernel("launching int8_plain", int8_plain,
                grid_stride_blocks(job.rows * job.out_features * 32, kThreads), kThreads, 0, stream,
                job);
}

}  // namespace qsim::golden::cuda
