// Binary convolution on a GPU with weights that are a tensor there, in any order of their axes:
// nothing is prepared, and a call is one kernel. binary_cuda.h has layers that are planned once,
// which are faster.
#pragma once

#include <cstdint>

#include "core/numerics/requantize.h"
#include "golden/kernels/binary/binary_conv.h"

namespace qsim::golden {

// Steps from one element of each axis to the next, in elements.
struct BitStrides {
  std::int64_t of_axis[5] = {};
  QSIM_HOST_DEVICE constexpr std::int64_t operator[](int axis) const { return of_axis[axis]; }
};

// Thresholds v of activations: on the device with a stride, or by value.
struct BinaryThresholds {
  const float* on_device = nullptr;
  std::int64_t stride = 1;
  float values[8] = {};
};

// What it computes is BinaryConv's sum. Pointers are of the device.
struct BinaryTensorConv {
  // Words of bits: [batch][height][width][input_bases][words]. Null: x is packed into `packed`
  // first.
  const std::uint64_t* bits = nullptr;
  BitStrides bit_strides;
  // [batch][height][width][channels], of the first four strides.
  const float* x = nullptr;
  BitStrides x_strides;
  BinaryThresholds v;
  std::uint64_t* packed = nullptr;  // the words of x without gaps

  ImageShape input;
  int input_bases = 1;
  const std::uint64_t* words = nullptr;  // [out][bases][kernel_h][kernel_w][words]
  BitStrides word_strides;
  int bases = 1;
  const float* alpha = nullptr;  // [bases][out]
  std::int64_t alpha_base_stride = 0;
  std::int64_t alpha_stride = 1;
  const float* beta = nullptr;  // [input_bases]
  std::int64_t beta_stride = 1;
  const float* bias = nullptr;  // [out], or null: none
  std::int64_t bias_stride = 1;
  Window window;
  float* y = nullptr;  // [batch][height][width][out] without gaps
  ImageShape output;
};

// Enqueue on `stream` (a cudaStream_t) of the current device. The shapes fit each other as
// window_shape() has them, and numbers that are not finite are computed with as they are. Throw
// Error for more than 2^31 - 1 words of a window, output pixels or channels, and for what CUDA
// refuses.
void enqueue_binary_tensors(const BinaryTensorConv& conv, void* stream);

// Packs `x` into `packed` [batch][height][width][bases][words] without gaps: by `v`, or with
// `by_sign` by its sign, one base.
void enqueue_binary_pack_tensor(const float* x, const BitStrides& x_strides,
                                const ImageShape& shape, const BinaryThresholds& v, int bases,
                                bool by_sign, std::uint64_t* packed, void* stream);

}  // namespace qsim::golden
