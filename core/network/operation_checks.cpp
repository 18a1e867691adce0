#include "core/network/operation_checks.h"

#include <cmath>

#include "core/base/checked_math.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/network/layer_arithmetic.h"
#include "core/network/layer_checks.h"

namespace qsim {
namespace {

// The Values that a layer reads, in the order of its operands.
using Operands = std::vector<const Value*>;

std::string place_of(const Layer& layer) { return layer_place(layer.name, layer.source); }

// float32, with bytes and finite.
void check_real_constant(const Layer& layer, const Tensor& tensor, std::string_view what,
                         const Shape& shape) {
  check_constant(place_of(layer), tensor, what, DType::kFloat32, shape);
  QSIM_CHECK(!tensor.bytes.empty(), layer.name + ": " + std::string(what) + " has no bytes");
  const std::span<const float> values = tensor.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    fail_at(layer, std::string(what) + " has " + std::to_string(values[i]) + " at index " +
                       std::to_string(i) + "; expected finite numbers");
  }
}

// int8, or int16 of at most nine bits; float32 where the layer's output is.
void check_weights(const Layer& layer, const Tensor& weights, const Shape& shape,
                   const Value& output) {
  if (output.is_real()) return check_real_constant(layer, weights, "weights", shape);
  if (weights.dtype != DType::kInt16)
    return check_constant(place_of(layer), weights, "weights", DType::kInt8, shape);
  check_constant(place_of(layer), weights, "weights", DType::kInt16, shape);
  for (const std::int16_t weight : weights.as<std::int16_t>()) {
    if (weight >= -kMostWideWeight && weight <= kMostWideWeight) continue;
    fail_at(layer, "weight " + std::to_string(weight) + " is outside " +
                       std::to_string(-kMostWideWeight) + ".." + std::to_string(kMostWideWeight));
  }
}

void check_bias(const Layer& layer, const Tensor& bias, const Value& output) {
  const Shape shape = {output.shape.channels};
  if (output.is_real()) return check_real_constant(layer, bias, "bias", shape);
  check_constant(place_of(layer), bias, "bias", DType::kInt32, shape);
}

void check_clamps(const Layer& layer, std::int32_t lo, std::int32_t hi, const Value& output) {
  if (lo <= hi && lo >= output.min() && hi <= output.max()) return;
  fail_at(layer, "clamp range " + std::to_string(lo) + ".." + std::to_string(hi) +
                     " is not within " + std::to_string(output.min()) + ".." +
                     std::to_string(output.max()));
}

void check_requantization(const Layer& layer, const Requantization& requantization,
                          const Value& output) {
  if (output.is_real()) return;
  const std::int64_t channels = output.shape.channels;
  const bool is_dyadic = requantization.is_dyadic();
  const auto count = std::ssize(requantization.shifts) + std::ssize(requantization.requantizers);
  if (count != 1 && count != channels) {
    fail_at(layer, std::to_string(count) + (is_dyadic ? " requantizers" : " shifts") +
                       "; expected 1 or " + std::to_string(channels));
  }
  for (const int shift : requantization.shifts) {
    QSIM_CHECK(!is_dyadic, layer.name + " has shifts and requantizers");
    if (shift > kMaxShift) fail_at(layer, "shift " + std::to_string(shift) + " is outside 0..31");
  }
  for (const Requantizer& requantizer : requantization.requantizers) {
    QSIM_CHECK(
        is_valid(requantizer) && requantizer.rounding == requantization.requantizers[0].rounding,
        layer.name + " has a requantizer that is out of range or rounds otherwise");
  }
  check_clamps(layer, requantization.lo, requantization.hi, output);
}

void check_quantization_kept(const Layer& layer, const Value& input, const Value& output) {
  if (output.dtype != input.dtype || output.zero_point != input.zero_point ||
      output.scale != input.scale) {
    fail_at(layer, "changes dtype, zero_point or scale, which " +
                       std::string(operation_name(layer.operation)) + " cannot");
  }
}

void check(const Layer& layer, const Conv2d& conv, const Value& input, const Value& output) {
  check_window(place_of(layer), conv.window);
  const Window& w = conv.window;
  const std::int64_t channels = output.shape.channels;
  check_groups(place_of(layer), conv.groups, input.shape.channels, channels);
  check_weights(layer, conv.weights,
                {channels, w.kernel_h, w.kernel_w, input.shape.channels / conv.groups}, output);
  check_bias(layer, conv.bias, output);
  check_requantization(layer, conv.requantization, output);
  check_convolution_shape(place_of(layer), w, input.shape, output.shape);
}

void check(const Layer& layer, const FullyConnected& fc, const Value& input, const Value& output) {
  check_is_vector(place_of(layer), input.shape);
  const std::int64_t channels = output.shape.channels;
  check_weights(layer, fc.weights, {channels, input.shape.channels}, output);
  check_bias(layer, fc.bias, output);
  check_requantization(layer, fc.requantization, output);
  check_output_shape(place_of(layer), output.shape, {input.shape.batch, 1, 1, channels});
}

void check(const Layer& layer, const MaxPool& pool, const Value& input, const Value& output) {
  check_quantization_kept(layer, input, output);
  check_pool(place_of(layer), pool.window, input.shape, output.shape);
}

void check_has_scale(const Layer& layer, const Value& value) {
  if (!value.scale) fail_at(layer, "a tensor that it reads or writes has no scale");
}

void check(const Layer& layer, const AveragePool& pool, const Value& input, const Value& output) {
  const Window& w = pool.window;
  check_pool(place_of(layer), w, input.shape, output.shape);
  check_no_dilation(place_of(layer), w);
  if (output.is_real()) return;
  check_clamps(layer, pool.lo, pool.hi, output);
  check_has_scale(layer, input);
  check_has_scale(layer, output);
  for (const std::int64_t count : {std::int64_t{1}, checked_mul(w.kernel_h, w.kernel_w)}) {
    if (average_requantizer(pool, input, output, count)) continue;
    fail_at(layer, "the ratio of its scales is not a positive float32");
  }
}

void check(const Layer& layer, const LookupTable&, const Value& input, const Value& output) {
  check_output_shape(place_of(layer), output.shape, input.shape);
}

void check_operands(const Layer& layer, const Add& add, const Operands& operands,
                    const Value& output) {
  for (const Value* operand : operands) {
    check_operand_shape(place_of(layer), operand->shape, output.shape);
  }
  if (output.is_real()) return;
  for (const Value* operand : operands) check_has_scale(layer, *operand);
  check_has_scale(layer, output);
  check_clamps(layer, add.lo, add.hi, output);
  if (adder_of(add, *operands[0], *operands[1], output)) return;
  const std::size_t wrong = adder_ratio(*operands[0]->scale, *output.scale) ? 1 : 0;
  const std::string ratio = number_text(
      static_cast<double>(operands[wrong]->scale->real() / output.scale->real()), "%.9g");
  fail_at(layer, "the scale of operand " + std::to_string(wrong) + " is " + ratio +
                     " times the output's; allowed: 2^" + std::to_string(kLeastLog2Ratio) +
                     " times or more, and less than 2^" + std::to_string(kMostLog2Ratio) +
                     " times");
}

void check_operands(const Layer& layer, const Concat&, const Operands& operands,
                    const Value& output) {
  ImageShape joined = output.shape;
  joined.channels = 0;
  for (const Value* operand : operands) {
    if (operand->dtype != output.dtype || operand->zero_point != output.zero_point ||
        operand->scale != output.scale) {
      fail_at(layer, "an operand has another dtype, zero_point or scale than the output");
    }
    joined.channels = checked_add(joined.channels, operand->shape.channels);
    check_operand_shape(
        place_of(layer), operand->shape,
        {output.shape.batch, output.shape.height, output.shape.width, operand->shape.channels});
  }
  check_output_shape(place_of(layer), output.shape, joined);
}

void check(const Layer& layer, const Activation& activation, const Value& input,
           const Value& output) {
  check_output_shape(place_of(layer), output.shape, input.shape);
  if (!std::isfinite(activation.alpha) || !std::isfinite(activation.beta)) {
    fail_at(layer, "alpha or beta is not a finite number; expected finite numbers");
  }
  if (activation.lo <= activation.hi) return;
  fail_at(layer, "clip range " + std::to_string(activation.lo) + ".." +
                     std::to_string(activation.hi) + "; expected lo at most hi");
}

void check(const Layer& layer, const PRelu& prelu, const Value& input, const Value& output) {
  check_output_shape(place_of(layer), output.shape, input.shape);
  const Shape& shape = prelu.slopes.shape;
  const Shape by_channel = {output.shape.channels};
  if (shape != Shape{1} && shape != by_channel) {
    fail_at(layer, "slopes have shape " + shape_text(shape) + "; expected [1] or " +
                       shape_text(by_channel));
  }
  check_real_constant(layer, prelu.slopes, "slopes", shape);
  if (output.is_real()) return;
  check_has_scale(layer, input);
  check_has_scale(layer, output);
}

void check(const Layer& layer, const Relu&, const Value& input, const Value& output) {
  check_quantization_kept(layer, input, output);
  check_output_shape(place_of(layer), output.shape, input.shape);
}

void check(const Layer& layer, const Flatten&, const Value& input, const Value& output) {
  check_quantization_kept(layer, input, output);
  check_flat_shape(place_of(layer), input.shape, output.shape);
}

}  // namespace

void check_operation(const Graph& graph, std::size_t index) {
  const Layer& layer = graph.layers[index];
  const Value& output = graph.output_of(index);
  const OperationRow& row = row_of(layer.operation);
  QSIM_CHECK(output.is_real() ? row.takes_reals : row.takes_integers,
             layer.name + ": a " + std::string(row.name) + " of tensors of another kind");
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
