// ReLU, Flatten, addition, concatenation and lookup table as their definitions read.
#include "core/layer_arithmetic.h"
#include "golden/cpu/quantized_view.h"
#include "golden/cpu/reference_layers.h"

namespace qsim::golden {

Tensor reference_relu(const Value& output_value, const Tensor& input) {
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t i = 0; i < output.elems(); ++i) {
    set_quantized(output, i, std::max(quantized_at(input, i), output_value.zero_point));
  }
  return output;
}

Tensor reference_add(const Add& add, const Value& a_value, const Value& b_value,
                     const Value& output_value, const Tensor& a, const Tensor& b) {
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  if (is_tflite(add.rounding)) {
    const TfliteAdder adder = tflite_adder_of(add, a_value, b_value, output_value);
    for (std::int64_t i = 0; i < output.elems(); ++i) {
      set_quantized(output, i,
                    tflite_add_levels(quantized_at(a, i), quantized_at(b, i), adder,
                                      output_value.zero_point, add.lo, add.hi));
    }
    return output;
  }
  const Adder adder = adder_of(add, a_value, b_value, output_value).value();
  for (std::int64_t i = 0; i < output.elems(); ++i) {
    set_quantized(output, i,
                  add_levels(quantized_at(a, i), quantized_at(b, i), adder, output_value.zero_point,
                             add.lo, add.hi));
  }
  return output;
}

Tensor reference_concat(const Value& output_value, std::span<const Tensor* const> inputs) {
  const auto [batch, height, width, channels] = output_value.shape;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  std::int64_t first = 0;
  for (const Tensor* input : inputs) {
    const std::int64_t depth = input->shape[3];
    for (std::int64_t pixel = 0; pixel < batch * height * width; ++pixel) {
      for (std::int64_t c = 0; c < depth; ++c) {
        set_quantized(output, pixel * channels + first + c,
                      quantized_at(*input, pixel * depth + c));
      }
    }
    first += depth;
  }
  return output;
}

Tensor reference_lookup_table(const LookupTable& table, const Value& output_value,
                              const Tensor& input) {
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::size_t i = 0; i < output.bytes.size(); ++i) {
    output.bytes[i] =
        static_cast<std::byte>(table.bytes[std::to_integer<std::size_t>(input.bytes[i])]);
  }
  return output;
}

Tensor reference_flatten(const Flatten& flatten, const Value& input_value,
                         const Value& output_value, const Tensor& input) {
  const auto [batch, height, width, channels] = input_value.shape;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t from = nhwc_index(height, width, channels, n, y, x, c);
          const std::int64_t to = flatten.order == Flatten::Order::kHwc
                                      ? from
                                      : nhwc_index(channels, height, width, n, c, y, x);
          set_quantized(output, to, quantized_at(input, from));
        }
      }
    }
  }
  return output;
}

}  // namespace qsim::golden
