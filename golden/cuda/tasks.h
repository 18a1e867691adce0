// What a kernel family is asked to run, and the makers of the families. A maker returns nullptr
// for a task that it does not take; conv_direct, max_pool, relu and flatten take everything that
// validate() passes.
//
// Activations lie in device memory as in core/graph.h: NHWC bytes of the value's own dtype, without
// padding between anything, 256-byte aligned. A maker reads weights and bias from host memory,
// packs and uploads them, and keeps no pointer to them. Every kernel gives golden/cpu's bytes.
#pragma once

#include <memory>

#include "core/graph.h"
#include "golden/cuda/kernel.h"

namespace qsim::golden::cuda {

// A convolution, or a fully connected layer as a 1x1 convolution on 1x1 pictures.
struct ConvTask {
  Value input;
  Value ofmap;  // of the convolution itself, before pooling
  Window window;
  const std::int8_t* weights = nullptr;  // [Cout][kernel_h][kernel_w][Cin], host
  const std::int32_t* bias = nullptr;    // [Cout], host
  Requantization requantization;         // a ReLU that follows is in lo already
  // A 2x2 max-pool with stride 2 follows, without pads and with even height and width of the ofmap:
  // `output` then is [N][height / 2][width / 2][Cout].
  bool pool = false;
  const std::uint8_t* input_data = nullptr;  // device
  std::uint8_t* output_data = nullptr;       // device
  int multiprocessors = 1;                   // of the device, to choose tiles by
};

struct MaxPoolTask {
  Value input;
  Value output;
  Window window;
  const std::uint8_t* input_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

struct ReluTask {
  Value value;
  const std::uint8_t* input_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

struct FlattenTask {
  Value input;
  Flatten::Order order = Flatten::Order::kChw;
  const std::uint8_t* input_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

// Hopper's tensor cores and copy engine; needs compute capability 9.0.
std::unique_ptr<Kernel> make_conv_wgmma(const ConvTask& task);
// Tensor cores through mma.sync, any kernel, stride, pads, zero point; compute capability 8.0 on.
std::unique_ptr<Kernel> make_conv_mma(const ConvTask& task);
// A first layer: few input channels, packed on the fly, tensor cores through mma.sync.
std::unique_ptr<Kernel> make_conv_first(const ConvTask& task);
// 1x1 pictures and few of them: a fully connected layer bound by reading its weights once.
std::unique_ptr<Kernel> make_linear_stream(const ConvTask& task);
// Any convolution, one output a thread, sums that may wrap; the reference on the device.
std::unique_ptr<Kernel> make_conv_direct(const ConvTask& task);

std::unique_ptr<Kernel> make_max_pool(const MaxPoolTask& task);
std::unique_ptr<Kernel> make_relu(const ReluTask& task);
std::unique_ptr<Kernel> make_flatten(const FlattenTask& task);

}  // namespace qsim::golden::cuda
