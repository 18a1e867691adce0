#include "core/operation_checks.h"

#include <cstdio>

#include "core/checked_math.h"
#include "core/layer_arithmetic.h"
#include "core/printable.h"

namespace qsim {
namespace {

// The Values that a layer reads, in the order of its operands.
using Operands = std::vector<const Value*>;

[[noreturn]] void fail(const Layer& layer, const std::string& message) {
  throw_bad_input("layer '" + echoed(layer.name) + "': " + message);
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

// int8, or int16 of at most nine bits.
void check_weights(const Layer& layer, const Tensor& weights, const Shape& shape) {
  if (weights.dtype != DType::kInt16)
    return check_tensor(layer, weights, "weights", DType::kInt8, shape);
  check_tensor(layer, weights, "weights", DType::kInt16, shape);
  for (const std::int16_t weight : weights.as<std::int16_t>()) {
    if (weight >= -kMostWideWeight && weight <= kMostWideWeight) continue;
    fail(layer, "weight " + std::to_string(weight) + " is outside " +
                    std::to_string(-kMostWideWeight) + ".." + std::to_string(kMostWideWeight));
  }
}

void check_clamps(const Layer& layer, std::int32_t lo, std::int32_t hi, const Value& output) {
  if (lo <= hi && lo >= output.min() && hi <= output.max()) return;
  fail(layer, "clamp range " + std::to_string(lo) + ".." + std::to_string(hi) + " is not within " +
                  std::to_string(output.min()) + ".." + std::to_string(output.max()));
}

void check_requantization(const Layer& layer, const Requantization& requantization,
                          const Value& output) {
  const std::int64_t channels = output.shape.channels;
  const bool is_dyadic = requantization.is_dyadic();
  const auto count = std::ssize(requantization.shifts) + std::ssize(requantization.requantizers);
  if (count != 1 && count != channels) {
    fail(layer, std::to_string(count) + (is_dyadic ? " requantizers" : " shifts") +
                    "; expected 1 or " + std::to_string(channels));
  }
  for (const int shift : requantization.shifts) {
    QSIM_CHECK(!is_dyadic, layer.name + " has shifts and requantizers");
    if (shift > kMaxShift) fail(layer, "shift " + std::to_string(shift) + " is outside 0..31");
  }
  for (const Requantizer& requantizer : requantization.requantizers) {
    QSIM_CHECK(
        is_valid(requantizer) && requantizer.rounding == requantization.requantizers[0].rounding,
        layer.name + " has a requantizer that is out of range or rounds otherwise");
  }
  check_clamps(layer, requantization.lo, requantization.hi, output);
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
  if (window.dilation_h < 1 || window.dilation_w < 1) {
    fail(layer, "dilation is smaller than 1; allowed: 1 or more");
  }
}

void check_shape(const Layer& layer, const Value& output, const ImageShape& expected) {
  if (!(output.shape == expected)) {
    fail(layer, "output shape " + shape_text(output.shape.nhwc()) + "; expected " +
                    shape_text(expected.nhwc()));
  }
}

void check_operand_shape(const Layer& layer, const Value& operand, const ImageShape& expected) {
  if (operand.shape == expected) return;
  fail(layer, "reads a tensor " + shape_text(operand.shape.nhwc()) + "; expected " +
                  shape_text(expected.nhwc()));
}

void check_quantization_kept(const Layer& layer, const Value& input, const Value& output) {
  if (output.dtype != input.dtype || output.zero_point != input.zero_point ||
      output.scale != input.scale) {
    fail(layer, "changes dtype, zero_point or scale, which " +
                    std::string(operation_name(layer.operation)) + " cannot");
  }
}

void check(const Layer& layer, const Conv2d& conv, const Value& input, const Value& output) {
  check_window(layer, conv.window);
  const Window& w = conv.window;
  const std::int64_t channels = output.shape.channels;
  if (conv.groups < 1 || input.shape.channels % conv.groups != 0 || channels % conv.groups != 0) {
    fail(layer, std::to_string(conv.groups) + " groups do not divide " +
                    std::to_string(input.shape.channels) + " input channels and " +
                    std::to_string(channels) + " output channels");
  }
  check_weights(layer, conv.weights,
                {channels, w.kernel_h, w.kernel_w, input.shape.channels / conv.groups});
  check_tensor(layer, conv.bias, "bias", DType::kInt32, {channels});
  check_requantization(layer, conv.requantization, output);
  check_shape(layer, output,
              {input.shape.batch,
               window_count(input.shape.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom),
               window_count(input.shape.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right),
               channels});
}

void check(const Layer& layer, const FullyConnected& fc, const Value& input, const Value& output) {
  if (input.shape.height != 1 || input.shape.width != 1) {
    fail(layer, "reads a picture " + shape_text(input.shape.nhwc()) + "; flatten it first");
  }
  const std::int64_t channels = output.shape.channels;
  check_weights(layer, fc.weights, {channels, input.shape.channels});
  check_tensor(layer, fc.bias, "bias", DType::kInt32, {channels});
  check_requantization(layer, fc.requantization, output);
  check_shape(layer, output, {input.shape.batch, 1, 1, channels});
}

// The ofmap of a pool over `input`; the last windows may hang over the end or not.
void check_pool(const Layer& layer, const Window& w, const Value& input, const Value& output) {
  check_window(layer, w);
  if (w.pad_top >= w.extent_h() || w.pad_bottom >= w.extent_h() || w.pad_left >= w.extent_w() ||
      w.pad_right >= w.extent_w()) {
    fail(layer, "padding is as large as the pooling kernel; allowed: less");
  }
  const ImageShape& in = input.shape;
  for (const bool ceil_mode : {false, true}) {
    const ImageShape expected{
        in.batch,
        window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, ceil_mode),
        window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, ceil_mode),
        in.channels};
    if (output.shape == expected) return;
    if (ceil_mode) check_shape(layer, output, expected);
  }
}

void check(const Layer& layer, const MaxPool& pool, const Value& input, const Value& output) {
  check_quantization_kept(layer, input, output);
  check_pool(layer, pool.window, input, output);
}

void check_has_scale(const Layer& layer, const Value& value) {
  if (!value.scale) fail(layer, "a tensor that it reads or writes has no scale");
}

void check(const Layer& layer, const AveragePool& pool, const Value& input, const Value& output) {
  const Window& w = pool.window;
  check_pool(layer, w, input, output);
  if (w.dilation_h != 1 || w.dilation_w != 1) {
    fail(layer, "dilation is " + std::to_string(w.dilation_h) + " x " +
                    std::to_string(w.dilation_w) + "; average_pool takes 1 alone");
  }
  check_clamps(layer, pool.lo, pool.hi, output);
  check_has_scale(layer, input);
  check_has_scale(layer, output);
  for (const std::int64_t count : {std::int64_t{1}, checked_mul(w.kernel_h, w.kernel_w)}) {
    if (average_requantizer(pool, input, output, count)) continue;
    fail(layer, "the ratio of its scales is not a positive float32");
  }
}

void check(const Layer& layer, const LookupTable&, const Value& input, const Value& output) {
  check_shape(layer, output, input.shape);
}

void check_operands(const Layer& layer, const Add& add, const Operands& operands,
                    const Value& output) {
  for (const Value* operand : operands) {
    check_operand_shape(layer, *operand, output.shape);
    check_has_scale(layer, *operand);
  }
  check_has_scale(layer, output);
  check_clamps(layer, add.lo, add.hi, output);
  if (adder_of(add, *operands[0], *operands[1], output)) return;
  const std::size_t wrong = adder_ratio(*operands[0]->scale, *output.scale) ? 1 : 0;
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.9g",
                static_cast<double>(operands[wrong]->scale->real() / output.scale->real()));
  fail(layer, "the scale of operand " + std::to_string(wrong) + " is " + ratio +
                  " times the output's; allowed: 2^" + std::to_string(kLeastLog2Ratio) +
                  " times or more, and less than 2^" + std::to_string(kMostLog2Ratio) + " times");
}

void check_operands(const Layer& layer, const Concat&, const Operands& operands,
                    const Value& output) {
  ImageShape joined = output.shape;
  joined.channels = 0;
  for (const Value* operand : operands) {
    if (operand->dtype != output.dtype || operand->zero_point != output.zero_point ||
        operand->scale != output.scale) {
      fail(layer, "an operand has another dtype, zero_point or scale than the output");
    }
    joined.channels = checked_add(joined.channels, operand->shape.channels);
    check_operand_shape(
        layer, *operand,
        {output.shape.batch, output.shape.height, output.shape.width, operand->shape.channels});
  }
  check_shape(layer, output, joined);
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

void check_operation(const Graph& graph, std::size_t index) {
  const Layer& layer = graph.layers[index];
  const Value& output = graph.output_of(index);
  Operands operands;
  for (const TensorId input : layer.inputs) operands.push_back(&graph.tensors[input]);
  std::visit(
      [&](const auto& operation) {
        if constexpr (requires { check_operands(layer, operation, operands, output); }) {
          check_operands(layer, operation, operands, output);
        } else {
          check(layer, operation, *operands[0], output);
        }
      },
      layer.operation);
}

void refuse_tflite_rounding(const Layer& layer) {
  const auto rounding = requantizer_rounding(layer.operation);
  if (!rounding || !is_tflite(*rounding)) return;
  const bool once = *rounding == RequantizerRounding::kTfliteSingle;
  throw_unsupported(layer_place(layer.name, layer.source) + ": rounding " +
                    (once ? "tflite_single" : "tflite") +
                    ", which golden on the CPU alone has; allowed: floor, half_even, half_up, "
                    "float32");
}

}  // namespace qsim
