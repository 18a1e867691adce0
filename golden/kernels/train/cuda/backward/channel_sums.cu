#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/channel_sums.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kColumns = 8;
constexpr int kSlices = 128;

__global__ void __launch_bounds__(kColumns* kSlices)
    channel_sums(const float* rows, std::int64_t row_count, std::int64_t columns, float* to) {
  golden::cuda::begin_kernel();
  __shared__ float sums[kSlices][kColumns];
  const int in_block = static_cast<int>(threadIdx.x) % kColumns;
  const int slice = static_cast<int>(threadIdx.x) / kColumns;
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + in_block;
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t row = slice; row < row_count; row += kSlices) {
      sum += rows[row * columns + column];
    }
  }
  sums[slice][in_block] = sum;
  for (int half = kSlices / 2; half > 0; half /= 2) {
    __syncthreads();
    if (slice < half) sums[slice][in_block] += sums[slice + half][in_block];
  }
  if (slice == 0 && column < columns) to[column] = sums[0][in_block];
}

}  // namespace

void enqueue_channel_sums(const float* rows, std::int64_t row_count, std::int64_t columns,
                          float* to, cudaStream_t stream) {
  golden::cuda::launch_kernel("launching channel_sums", channel_sums,
                              (columns + kColumns - 1) / kColumns, kColumns * kSlices, 0, stream,
                              rows, row_count, columns, to);
}

}  // namespace qsim::golden::train::cuda
