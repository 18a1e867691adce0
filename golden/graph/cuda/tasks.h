// What a kernel family is asked to run, and the makers of the families. A maker returns nullptr
// for a task that it does not take; conv_direct and the makers of layers without weights take
// everything that validate() passes.
//
// Activations lie in device memory as in core/network/graph.h: NHWC bytes of the value's own dtype,
// without padding between anything, 256-byte aligned. A maker reads weights and bias from host
// memory, packs and uploads them, and keeps no pointer to them. Every kernel gives
// golden/graph/cpu's bytes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/network/float_rules.h"
#include "core/network/graph.h"
#include "golden/graph/cuda/kernel.h"
#include "golden/graph/cuda/layer_plan.h"

namespace qsim::golden::cuda {

// A convolution, or a fully connected layer as a 1x1 convolution on 1x1 pictures.
struct ConvTask {
  Value input;
  Value ofmap;  // of the convolution itself, before pooling and addition
  Window window;
  std::int64_t groups = 1;
  int weight_parts = 1;  // as Step::weight_parts
  const std::int8_t* weights =
      nullptr;  // [Cout][weight_parts][kernel_h][kernel_w][Cin / groups], host
  const std::int32_t* bias = nullptr;  // [Cout], host
  Requantization requantization;       // a ReLU that follows is in lo already
  // A 2x2 max-pool with stride 2 follows, without pads and with even height and width of the ofmap:
  // `output` then is [N][height / 2][width / 2][Cout].
  bool pool = false;
  // The ofmap is added to another tensor of its shape; `output` then is the sum. Never with `pool`.
  std::optional<Addition> addition;
  const std::uint8_t* input_data = nullptr;  // device; so are the other two
  const std::uint8_t* other_data = nullptr;  // of `addition`
  std::uint8_t* output_data = nullptr;
  int multiprocessors = 1;  // of the device, to choose tiles by
  CudaChoices choices;      // what is not to be chosen here

  // Products of one output value, those of all parts of wide weights.
  std::int64_t depth() const {
    return weight_parts * window.kernel_h * window.kernel_w * (input.shape.channels / groups);
  }
};

struct MaxPoolTask {
  Value input;
  Value output;
  Window window;
  const std::uint8_t* input_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

struct AveragePoolTask {
  AveragePool pool;
  Value input;
  Value output;
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

struct AddTask {
  Add add;
  Value a;
  Value b;
  Value output;
  const std::uint8_t* a_data = nullptr;
  const std::uint8_t* b_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

struct ConcatTask {
  std::vector<std::int64_t> channels;  // of each operand
  Value output;
  std::vector<const std::uint8_t*> input_data;
  std::uint8_t* output_data = nullptr;
};

struct LookupTask {
  std::array<std::uint8_t, 256> bytes{};
  std::int64_t count = 0;
  const std::uint8_t* input_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

struct PReluTask {
  std::vector<ByteTable> tables;  // one for each channel, or one
  std::int64_t count = 0;
  const std::uint8_t* input_data = nullptr;
  std::uint8_t* output_data = nullptr;
};

// Hopper's tensor cores and copy engine; needs compute capability 9.0.
std::unique_ptr<Kernel> make_conv_wgmma(const ConvTask& task);
// Tensor cores through mma.sync, any window and zero point; compute capability 8.0 on.
std::unique_ptr<Kernel> make_conv_mma(const ConvTask& task);
// A first layer: few input channels, packed on the fly, tensor cores through mma.sync.
std::unique_ptr<Kernel> make_conv_first(const ConvTask& task);
// 1x1 pictures and few of them: a fully connected layer bound by reading its weights once.
std::unique_ptr<Kernel> make_linear_stream(const ConvTask& task);
// A group for each channel: bound by reading and writing its activations.
std::unique_ptr<Kernel> make_conv_depthwise(const ConvTask& task);
// Any convolution, one output a thread, sums that may wrap; the reference on the device.
std::unique_ptr<Kernel> make_conv_direct(const ConvTask& task);

std::unique_ptr<Kernel> make_max_pool(const MaxPoolTask& task);
std::unique_ptr<Kernel> make_average_pool(const AveragePoolTask& task);
std::unique_ptr<Kernel> make_relu(const ReluTask& task);
std::unique_ptr<Kernel> make_flatten(const FlattenTask& task);
std::unique_ptr<Kernel> make_add(const AddTask& task);
std::unique_ptr<Kernel> make_concat(const ConcatTask& task);
std::unique_ptr<Kernel> make_lookup(const LookupTask& task);
std::unique_ptr<Kernel> make_prelu(const PReluTask& task);

}  // namespace qsim::golden::cuda
