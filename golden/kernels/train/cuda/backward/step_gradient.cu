// The gradient of learned step sizes: dx, and a sum for each step size in a fixed order.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/channel_sums.cuh"
#include "golden/kernels/train/cuda/backward/real_values.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kElems = 4096;  // of a block

// One after the other for each channel; a block's sum is sums[part][channel].
__global__ void __launch_bounds__(kThreads)
    step_gradient(const __grid_constant__ StepGradient call, std::int64_t parts, float* sums) {
  golden::cuda::begin_kernel();
  __shared__ float warp_sums[kThreads / 32];
  const std::int64_t channel = std::int64_t{blockIdx.x} / parts;
  const std::int64_t part = std::int64_t{blockIdx.x} % parts;
  const std::int64_t of_channel = call.elems / call.channels;
  const int zero_point = call.zero_point == nullptr ? 0 : *call.zero_point;
  const std::int64_t first = channel * of_channel;
  const std::int64_t end = first + min(of_channel, (part + 1) * kElems);
  float sum = 0;
#pragma unroll 4
  for (std::int64_t i = first + part * kElems + threadIdx.x; i < end; i += kThreads) {
    const bool passes = passes_at(call.passes, i);
    const float dq = call.dq[i];
    const float factor = passes ? static_cast<float>(-call.residual[i]) / 127.0F
                                : static_cast<float>(call.q[i] - zero_point);
    sum = fmaf(dq, factor, sum);
    if (call.dx != nullptr) call.dx[i] = passes ? dq : 0.0F;
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, lanes);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kThreads / 32; ++warp) sum += warp_sums[warp];
  sums[part * call.channels + channel] = sum;
}

std::int64_t parts_of(const StepGradient& call) {
  if (call.channels == 0 || call.elems == 0) return 0;
  return (call.elems / call.channels + kElems - 1) / kElems;
}

}  // namespace

std::size_t workspace_bytes(const StepGradient& call) {
  return static_cast<std::size_t>(parts_of(call) * call.channels) * sizeof(float);
}

void enqueue(const StepGradient& call, void* workspace, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const std::int64_t parts = parts_of(call);
  const auto sums = static_cast<float*>(workspace);
  if (parts > 0) {
    golden::cuda::launch_kernel("launching step_gradient", step_gradient, parts * call.channels,
                                kThreads, 0, cuda_stream, call, parts, sums);
  }
  if (call.channels > 0) {
    enqueue_channel_sums(sums, parts, call.channels, call.step_gradient, cuda_stream);
  }
}

}  // namespace qsim::golden::train::cuda
