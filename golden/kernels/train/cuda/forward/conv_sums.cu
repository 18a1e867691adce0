// ConvStatistics, ConvGradientSums and ConvNormalizeGradient on a GPU.
#include "golden/kernels/train/cuda/forward/conv_finish_sums.cuh"
#include "golden/kernels/train/cuda/forward/conv_launch.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kPartsOfSlot = 4;  // a warp's each
constexpr int kChannels = 32;    // of a block
constexpr int kRows = 32;        // of threads

// A thread adds the parts that are kRows apart, then rows are added in pairs.
__global__ void __launch_bounds__(kChannels* kRows)
    reduce_gradient_sums(const float2* parts, std::int64_t count, int channels, float* sums) {
  begin_kernel();
  __shared__ float2 of_rows[kRows][kChannels];
  const int channel =
      static_cast<int>(blockIdx.x) * kChannels + static_cast<int>(threadIdx.x) % kChannels;
  const int row = static_cast<int>(threadIdx.x) / kChannels;
  const int column = static_cast<int>(threadIdx.x) % kChannels;
  float2 sum = make_float2(0, 0);
  if (channel < channels) {
#pragma unroll 4
    for (std::int64_t i = row; i < count; i += kRows) {
      const float2 part = parts[i * channels + channel];
      sum.x = __fadd_rn(sum.x, part.x);
      sum.y = __fadd_rn(sum.y, part.y);
    }
  }
  of_rows[row][column] = sum;
  for (int half = kRows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row >= half) continue;
    const float2 other = of_rows[row + half][column];
    sum.x = __fadd_rn(sum.x, other.x);
    sum.y = __fadd_rn(sum.y, other.y);
    of_rows[row][column] = sum;
  }
  if (row != 0 || channel >= channels) return;
  sums[channel * 2] = sum.x;
  sums[channel * 2 + 1] = sum.y;
}

}  // namespace

std::size_t workspace_bytes(const ConvStatistics& call) { return conv_workspace_bytes(call.conv); }
std::size_t workspace_bytes(const ConvNormalizeGradient& call) {
  return conv_workspace_bytes(call.conv);
}

std::size_t workspace_bytes(const ConvGradientSums& call) {
  return conv_workspace_bytes(call.conv) +
         static_cast<std::size_t>(kPartsOfSlot * most_slots(call.conv) *
                                  call.conv.y_shape.channels) *
             sizeof(float2);
}

void enqueue(const ConvStatistics& call, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const auto channels = static_cast<std::size_t>(call.conv.y_shape.channels);
  if (channels == 0) return;
  check(cudaMemsetAsync(call.sums, 0, channels * 3 * sizeof(std::int64_t), on), "clearing sums");
  launch_conv(call.conv, StatisticsFinish{call.sums}, workspace, on);
}

void enqueue(const ConvGradientSums& call, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const std::int64_t channels = call.conv.y_shape.channels;
  if (channels == 0) return;
  auto* parts = reinterpret_cast<float2*>(static_cast<std::uint8_t*>(workspace) +
                                          conv_workspace_bytes(call.conv));
  const bool fours = columns_together(call.conv) % 4 == 0 && is_aligned(call.g, 8);
  const std::int64_t slots =
      launch_conv(call.conv, GradientSumsFinish{call.g, fours, parts}, workspace, on);
  launch_kernel("launching the sums of a gradient", reduce_gradient_sums,
                ceil_div(channels, kChannels), kChannels * kRows, 0, on,
                static_cast<const float2*>(parts), kPartsOfSlot * slots, static_cast<int>(channels),
                call.sums);
}

void enqueue(const ConvNormalizeGradient& call, void* workspace, void* stream) {
  const bool fours = columns_together(call.conv) % 4 == 0 && is_aligned(call.g, 8);
  launch_conv(call.conv, NormalizeGradientFinish{call.factors, call.g, fours}, workspace,
              static_cast<cudaStream_t>(stream));
}

}  // namespace qsim::golden::train::cuda
