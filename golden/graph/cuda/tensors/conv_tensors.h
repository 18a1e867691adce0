// An int8 convolution whose weights are a tensor on the device, in any order of their axes: nothing
// is prepared, and a call is one kernel. golden/graph/cuda/kernels has the kernels of networks,
// whose weights are packed once, and which are faster.
#pragma once

#include <cstdint>

#include "core/network/graph.h"

namespace qsim::golden::cuda {

// Steps from one element of each axis to the next, in elements.
struct Strides4 {
  std::int64_t batch = 0;  // of weights: output channels
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

// y = clamp(round((psum + bias) * scale) + y_zero_point, lo, hi). Pointers are of the device. Where
// a scale is not a positive finite number it counts as 2^-40, an infinite one as 2^24 - 1.
struct TensorConv {
  const std::uint8_t* x = nullptr;  // [batch][height][width][channels] at its strides
  Strides4 x_strides;
  ImageShape x_shape;
  bool x_is_unsigned = false;
  std::int32_t x_zero_point = 0;  // within x's type

  const std::int8_t* weights = nullptr;  // [out][kernel_h][kernel_w][channels / groups]
  Strides4 weight_strides;
  std::int64_t groups = 1;
  Window window;

  const std::int32_t* bias = nullptr;  // [out], or null: none
  std::int64_t bias_stride = 1;
  const float* scales = nullptr;  // [out], or one with the stride 0
  std::int64_t scale_stride = 0;
  RequantizerRounding rounding = RequantizerRounding::kFloat32;  // none of TensorFlow Lite's
  std::int32_t y_zero_point = 0;
  std::int32_t lo = 0;  // within y's type, as is hi
  std::int32_t hi = 0;

  std::uint8_t* y = nullptr;  // without gaps
  ImageShape y_shape;
};

// Enqueues it on `stream` (a cudaStream_t) of the current device. The shapes fit each other, and y
// has elements. Throws Error for more than 2^31 - 1 output pixels, output channels, or positions of
// the window times channels, and for what CUDA refuses.
void enqueue_conv(const TensorConv& conv, void* stream);

}  // namespace qsim::golden::cuda
