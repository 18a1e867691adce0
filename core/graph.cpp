#include <set>

#include "core/checked_math.h"
#include "core/graph_order.h"
#include "core/graph_shapes.h"
#include "core/limits.h"
#include "core/printable.h"

namespace qsim {
namespace {

[[noreturn]] void fail(const Layer& layer, const std::string& message) {
  throw_bad_input("layer '" + echoed(layer.name) + "': " + message);
}

void check_value(const Value& value, const std::string& what) {
  if (value.dtype != DType::kInt8 && value.dtype != DType::kUint8) {
    throw_bad_input(what + ": dtype " + std::string(dtype_name(value.dtype)) +
                    "; activations are int8 or uint8");
  }
  if (value.zero_point < value.min() || value.zero_point > value.max()) {
    throw_bad_input(what + ": zero_point " + std::to_string(value.zero_point) + " is outside " +
                    std::to_string(value.min()) + ".." + std::to_string(value.max()));
  }
  for (const std::int64_t dim : value.shape.nhwc()) {
    if (dim < 1) throw_bad_input(what + ": shape " + shape_text(value.shape.nhwc()));
  }
  const std::int64_t elems = with_place(what, [&] { return element_count(value.shape.nhwc()); });
  if (elems > kMaxTensorElems) {
    throw_bad_input(what + ": " + std::to_string(elems) + " elements, shape " +
                    shape_text(value.shape.nhwc()) + "; at most " +
                    std::to_string(kMaxTensorElems) + " are allowed");
  }
}

void check_tensor(const Layer& layer, const Tensor& tensor, const char* what, DType dtype,
                  const Shape& shape) {
  if (tensor.dtype != dtype || tensor.shape != shape) {
    fail(layer, std::string(what) + " is " + std::string(dtype_name(tensor.dtype)) + " " +
                    shape_text(tensor.shape) + "; expected " + std::string(dtype_name(dtype)) +
                    " " + shape_text(shape));
  }
  const std::size_t bytes = static_cast<std::size_t>(tensor.elems()) * dtype_bytes(tensor.dtype);
  QSIM_CHECK(tensor.bytes.empty() || tensor.bytes.size() == bytes,
             layer.name + ": " + what + " is not as long as its shape says");
}

void check_requantization(const Layer& layer, const Requantization& requantization,
                          const Value& output) {
  const std::int64_t channels = output.shape.channels;
  const auto count = static_cast<std::int64_t>(requantization.shifts.size());
  if (count != 1 && count != channels) {
    fail(layer, std::to_string(count) + " shifts; expected 1 or " + std::to_string(channels));
  }
  for (const int shift : requantization.shifts) {
    if (shift > kMaxShift) fail(layer, "shift " + std::to_string(shift) + " is outside 0..31");
  }
  if (requantization.lo > requantization.hi || requantization.lo < output.min() ||
      requantization.hi > output.max()) {
    fail(layer, "clamp range " + std::to_string(requantization.lo) + ".." +
                    std::to_string(requantization.hi) + " is not within " +
                    std::to_string(output.min()) + ".." + std::to_string(output.max()));
  }
}

void check_window(const Layer& layer, const Window& window) {
  if (window.kernel_h < 1 || window.kernel_w < 1) {
    fail(layer, "kernel is smaller than 1; allowed: 1 or more");
  }
  if (window.stride_h < 1 || window.stride_w < 1) {
    fail(layer, "stride is smaller than 1; allowed: 1 or more");
  }
  if (window.pad_top < 0 || window.pad_left < 0 || window.pad_bottom < 0 || window.pad_right < 0) {
    fail(layer, "padding is negative; allowed: 0 or more");
  }
}

void check_shape(const Layer& layer, const Value& output, const ImageShape& expected) {
  if (!(output.shape == expected)) {
    fail(layer, "output shape " + shape_text(output.shape.nhwc()) + "; expected " +
                    shape_text(expected.nhwc()));
  }
}

void check_quantization_kept(const Layer& layer, const Value& input, const Value& output) {
  if (output.dtype != input.dtype || output.zero_point != input.zero_point ||
      output.scale != input.scale) {
    fail(layer, "changes dtype, zero_point or scale, which only conv2d and fully_connected can");
  }
}

void check(const Layer& layer, const Conv2d& conv, const Value& input, const Value& output) {
  check_window(layer, conv.window);
  const Window& w = conv.window;
  const std::int64_t channels = output.shape.channels;
  check_tensor(layer, conv.weights, "weights", DType::kInt8,
               {channels, w.kernel_h, w.kernel_w, input.shape.channels});
  check_tensor(layer, conv.bias, "bias", DType::kInt32, {channels});
  check_requantization(layer, conv.requantization, output);
  check_shape(
      layer, output,
      {input.shape.batch,
       window_count(input.shape.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom),
       window_count(input.shape.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right), channels});
}

void check(const Layer& layer, const FullyConnected& fc, const Value& input, const Value& output) {
  if (input.shape.height != 1 || input.shape.width != 1) {
    fail(layer, "reads a picture " + shape_text(input.shape.nhwc()) + "; flatten it first");
  }
  const std::int64_t channels = output.shape.channels;
  check_tensor(layer, fc.weights, "weights", DType::kInt8, {channels, input.shape.channels});
  check_tensor(layer, fc.bias, "bias", DType::kInt32, {channels});
  check_requantization(layer, fc.requantization, output);
  check_shape(layer, output, {input.shape.batch, 1, 1, channels});
}

void check(const Layer& layer, const MaxPool& pool, const Value& input, const Value& output) {
  const Window& w = pool.window;
  check_window(layer, w);
  check_quantization_kept(layer, input, output);
  if (w.pad_top >= w.kernel_h || w.pad_bottom >= w.kernel_h || w.pad_left >= w.kernel_w ||
      w.pad_right >= w.kernel_w) {
    fail(layer, "padding is as large as the pooling kernel; allowed: less");
  }
  const ImageShape& in = input.shape;
  const ImageShape& out = output.shape;
  for (const bool ceil_mode : {false, true}) {
    const ImageShape expected{
        in.batch,
        window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, ceil_mode),
        window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, ceil_mode),
        in.channels};
    if (out == expected) return;
    if (ceil_mode) check_shape(layer, output, expected);
  }
}

void check(const Layer& layer, const Relu&, const Value& input, const Value& output) {
  check_quantization_kept(layer, input, output);
  check_shape(layer, output, input.shape);
}

void check(const Layer& layer, const Flatten&, const Value& input, const Value& output) {
  check_quantization_kept(layer, input, output);
  const ImageShape& in = input.shape;
  check_shape(layer, output,
              {in.batch, 1, 1, checked_mul(checked_mul(in.height, in.width), in.channels)});
}

}  // namespace

TensorId append(Graph& graph, std::string name, Operation operation, Value output,
                std::string source) {
  return append(graph, std::move(name), std::move(operation), std::vector<TensorId>{graph.output},
                std::move(output), std::move(source));
}

TensorId append(Graph& graph, std::string name, Operation operation, std::vector<TensorId> inputs,
                Value output, std::string source) {
  graph.output = graph.tensors.size();
  graph.tensors.push_back(std::move(output));
  graph.layers.push_back(
      {std::move(name), std::move(operation), std::move(inputs), graph.output, std::move(source)});
  return graph.output;
}

std::string layer_place(const std::string& name, const std::string& source) {
  return source.empty() ? "layer '" + echoed(name) + "'" : source;
}

std::string_view operation_name(const Operation& operation) {
  constexpr std::string_view kNames[] = {"conv2d", "fully_connected", "max_pool", "relu",
                                         "flatten"};
  return kNames[operation.index()];
}

std::int64_t window_count(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil_mode) {
  const std::int64_t span = checked_add(size, checked_add(pad_begin, pad_end)) - kernel;
  if (span < 0) return 0;
  if (!ceil_mode) return span / stride + 1;
  const std::int64_t count = ceil_div(span, stride) + 1;
  return (count - 1) * stride >= size + pad_begin ? count - 1 : count;
}

std::int64_t layer_macs(const Graph& graph, std::size_t index) {
  const Layer& layer = graph.layers[index];
  const ImageShape& out = graph.output_of(index).shape;
  const std::int64_t pixels = checked_mul(checked_mul(out.batch, out.height), out.width);
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    return checked_mul(pixels, conv->weights.elems());
  }
  if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
    return checked_mul(pixels, fc->weights.elems());
  }
  return 0;
}

void validate(const Graph& graph) {
  if (graph.layers.empty()) throw_bad_input("graph '" + echoed(graph.name) + "' has no layers");
  if (static_cast<std::int64_t>(graph.layers.size()) > kMaxLayers) {
    throw_bad_input("graph '" + echoed(graph.name) + "' has " +
                    std::to_string(graph.layers.size()) + " layers; at most " +
                    std::to_string(kMaxLayers) + " are allowed");
  }
  check_order(graph);
  check_value(graph.input_value(), "graph input");
  std::set<std::string> names;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    if (!names.insert(layer.name).second) {
      const std::string place = layer.source.empty() ? "" : layer.source + ": ";
      throw_bad_input(place + "two layers are called '" + echoed(layer.name) +
                      "'; names must be unique");
    }
    check_value(graph.output_of(i), "layer '" + echoed(layer.name) + "' output");
    with_place(layer_place(layer.name, layer.source), [&] {
      std::visit(
          [&](const auto& operation) {
            check(layer, operation, graph.input_of(i), graph.output_of(i));
          },
          layer.operation);
    });
  }
  has_tensors(graph);  // all or none
}

}  // namespace qsim
