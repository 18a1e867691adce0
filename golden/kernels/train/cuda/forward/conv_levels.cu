// ConvLevels on a GPU.
#include "golden/kernels/train/cuda/forward/conv_finish_levels.cuh"
#include "golden/kernels/train/cuda/forward/conv_launch.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {

std::size_t workspace_bytes(const ConvLevels& call) { return conv_workspace_bytes(call.conv); }

void enqueue(const ConvLevels& call, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const PassBits bits = pass_bits(call.conv, call.passes);
  if (call.passes != nullptr && !bits.bytes) {
    const std::int64_t elems = call.conv.pixels() * call.conv.y_shape.channels;
    check(cudaMemsetAsync(call.passes, 0, static_cast<std::size_t>((elems + 7) / 8), on),
          "clearing bits");
  }
  if (call.range != nullptr) {
    check(cudaMemsetAsync(call.range, 0, 2 * sizeof(float), on), "clearing a range");
  }
  const bool fours = columns_together(call.conv) % 4 == 0 && is_aligned(call.y, 4);
  launch_conv(call.conv,
              LevelsFinish{call.multipliers, call.bias, call.y_zero_point, call.lo, call.hi,
                           call.relu, call.y, fours, bits, call.range},
              workspace, on);
}

}  // namespace qsim::golden::train::cuda
