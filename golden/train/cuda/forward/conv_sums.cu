// ConvStatistics, ConvGradientSums and ConvNormalizeGradient on a GPU.
#include "golden/train/cuda/forward/conv_finish_sums.cuh"
#include "golden/train/cuda/forward/conv_launch.cuh"
#include "golden/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 256;

// Of a channel a block: the parts that a thread adds are kThreads apart, then threads are added in
// pairs.
__global__ void __launch_bounds__(kThreads)
    reduce_gradient_sums(const float2* parts, std::int64_t count, int channels, float* sums) {
  begin_kernel();
  __shared__ float2 of_threads[kThreads];
  float2 sum = make_float2(0, 0);
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
    const float2 part = parts[i * channels + blockIdx.x];
    sum.x = __fadd_rn(sum.x, part.x);
    sum.y = __fadd_rn(sum.y, part.y);
  }
  of_threads[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= half) continue;
    const float2 other = of_threads[threadIdx.x + half];
    sum.x = __fadd_rn(sum.x, other.x);
    sum.y = __fadd_rn(sum.y, other.y);
    of_threads[threadIdx.x] = sum;
  }
  if (threadIdx.x != 0) return;
  sums[blockIdx.x * 2] = sum.x;
  sums[blockIdx.x * 2 + 1] = sum.y;
}

}  // namespace

std::size_t workspace_bytes(const ConvStatistics&) { return 0; }
std::size_t workspace_bytes(const ConvNormalizeGradient&) { return 0; }

std::size_t workspace_bytes(const ConvGradientSums& call) {
  return static_cast<std::size_t>(2 * most_piece_rows(call.conv) * call.conv.y_shape.channels) *
         sizeof(float2);
}

void enqueue(const ConvStatistics& call, void* /*workspace*/, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const auto channels = static_cast<std::size_t>(call.conv.y_shape.channels);
  if (channels == 0) return;
  check(cudaMemsetAsync(call.sums, 0, channels * 3 * sizeof(std::int64_t), on), "clearing sums");
  launch_conv(call.conv, StatisticsFinish{call.sums}, on);
}

void enqueue(const ConvGradientSums& call, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  if (call.conv.y_shape.channels == 0) return;
  auto* parts = static_cast<float2*>(workspace);
  const std::int64_t pieces = launch_conv(call.conv, GradientSumsFinish{call.g, parts}, on);
  launch_kernel("launching the sums of a gradient", reduce_gradient_sums,
                call.conv.y_shape.channels, kThreads, 0, on, static_cast<const float2*>(parts),
                2 * pieces, static_cast<int>(call.conv.y_shape.channels), call.sums);
}

void enqueue(const ConvNormalizeGradient& call, void* /*workspace*/, void* stream) {
  const bool fours = call.conv.out_channels() % 4 == 0 && is_aligned(call.g, 8);
  launch_conv(call.conv, NormalizeGradientFinish{call.factors, call.g, fours},
              static_cast<cudaStream_t>(stream));
}

}  // namespace qsim::golden::train::cuda
