// ConvReal on a GPU.
#include "golden/kernels/train/cuda/forward/conv_finish_real.cuh"
#include "golden/kernels/train/cuda/forward/conv_launch.cuh"
#include "golden/kernels/train/cuda/forward/conv_stored_boxes.cuh"
#include "golden/kernels/train/cuda/forward/conv_stored_planes.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

std::size_t bit_bytes(const LevelConv& conv) {
  return static_cast<std::size_t>((conv.pixels() * conv.y_shape.channels + 7) / 8);
}

// Whether neighbours along `axis` can be written four at a time.
bool writes_fours(const RealTensor& y, std::size_t axis) {
  if (y.strides[axis] != 1 || !is_aligned(y.data, y.type == RealType::kFloat32 ? 16 : 8)) {
    return false;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != axis && y.shape[i] > 1 && y.strides[i] % 4 != 0) return false;
  }
  return true;
}

// Rows are stepped over four at a time too, where a picture's pixels follow each other.
bool writes_planes(const RealTensor& y) {
  return y.strides[2] == 1 && y.strides[3] != 1 &&
         is_aligned(y.data, y.type == RealType::kFloat32 ? 16 : 8) && y.strides[3] % 4 == 0 &&
         (y.shape[0] == 1 || y.strides[0] % 4 == 0);
}

}  // namespace

std::size_t workspace_bytes(const ConvReal& call) { return conv_workspace_bytes(call.conv); }

void enqueue(const ConvReal& call, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  RealFinishArgs args{call.scale, call.w_scales, call.bias,
                      call.relu,  call.y,        pass_bits(call.conv, call.passes),
                      false};
  if (call.passes != nullptr && !args.bits.bytes) {
    check(cudaMemsetAsync(call.passes, 0, bit_bytes(call.conv), on), "clearing bits");
  }
  if (call.y.strides[2] == 1 && call.y.strides[3] != 1 && call.y.shape[3] > 1) {
    args.fours = writes_planes(call.y);
    launch_conv(call.conv, RealPixelsFinish{args}, workspace, on);
  } else {
    args.fours = writes_fours(call.y, 3) && columns_together(call.conv) % 4 == 0;
    launch_conv(call.conv, RealChannelsFinish{args}, workspace, on);
  }
}

}  // namespace qsim::golden::train::cuda
