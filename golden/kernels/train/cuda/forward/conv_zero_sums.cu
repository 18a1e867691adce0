#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/conv_zero_sums.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 128;
constexpr int kMostTaps = 64;
constexpr std::int32_t kOnes = 0x01010101;

// An output channel a block: its warps sum taps, its threads the rectangles.
__global__ void __launch_bounds__(kThreads)
    sum_zero_point(const __grid_constant__ ConvSizes conv, std::int32_t* sums) {
  begin_kernel();
  __shared__ std::int32_t of_taps[kMostTaps];
  const int taps = conv.kernel_h * conv.kernel_w;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int channel = static_cast<int>(blockIdx.x);
  for (int tap = static_cast<int>(threadIdx.x) / 32; tap < taps; tap += kThreads / 32) {
    const auto* w = reinterpret_cast<const int4*>(conv.w + (std::int64_t{channel} * taps + tap) *
                                                               conv.channels);
    std::int32_t sum = 0;
    for (int i = lane; i < conv.channels / 16; i += 32) {
      const int4 chunk = w[i];
      sum = __dp4a(chunk.x, kOnes, __dp4a(chunk.y, kOnes, sum));
      sum = __dp4a(chunk.z, kOnes, __dp4a(chunk.w, kOnes, sum));
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, step);
    if (lane == 0) of_taps[tap] = sum;
  }
  __syncthreads();
  const auto zero_point = static_cast<std::uint32_t>(*conv.zero_point);
  const int across = conv.kernel_w + 1;
  for (int i = static_cast<int>(threadIdx.x); i < (conv.kernel_h + 1) * across; i += kThreads) {
    std::uint32_t sum = 0;
    for (int ky = 0; ky < i / across; ++ky) {
      for (int kx = 0; kx < i % across; ++kx) {
        sum += static_cast<std::uint32_t>(of_taps[ky * conv.kernel_w + kx]);
      }
    }
    sums[std::int64_t{i} * conv.columns + channel] = static_cast<std::int32_t>(sum * zero_point);
  }
}

}  // namespace

bool takes_zero_sums(const ConvSizes& conv) {
  return conv.groups == 1 && std::int64_t{conv.kernel_h} * conv.kernel_w <= kMostTaps &&
         conv.channels % 16 == 0 && conv.columns % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(conv.w) % 16 == 0;
}

std::size_t zero_sums_bytes(const ConvSizes& conv) {
  if (conv.zero_point == nullptr || std::int64_t{conv.kernel_h} * conv.kernel_w > kMostTaps) {
    return 0;  // of any address, as a caller may keep the answer
  }
  return static_cast<std::size_t>(std::int64_t{conv.kernel_h + 1} * (conv.kernel_w + 1) *
                                  conv.columns) *
         sizeof(std::int32_t);
}

void enqueue_zero_sums(const ConvSizes& conv, std::int32_t* sums, void* stream) {
  launch_kernel("launching the sums of a zero_point", sum_zero_point, conv.columns, kThreads, 0,
                static_cast<cudaStream_t>(stream), conv, sums);
}

}  // namespace qsim::golden::train::cuda
