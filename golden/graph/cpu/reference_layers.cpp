// The layers of core/network/graph.h as plain loops, to be read beside the definition. No folding
// of zero points, no packing, no vector instructions: an independent witness of all of these. Each
// gives the tensor of the layer's output.
#include "core/network/float_rules.h"
#include "core/network/layer_arithmetic.h"
#include "golden/graph/cpu/layer_executor.h"
#include "golden/graph/cpu/quantized_view.h"

namespace qsim::golden {
namespace {

// The psum of one output element.
std::int32_t accumulate(const Conv2d& conv, const Value& in, const Tensor& input, std::int64_t n,
                        std::int64_t oy, std::int64_t ox, std::int64_t co) {
  const Window& window = conv.window;
  const auto [batch, height, width, channels] = in.shape;
  const std::int64_t depth = conv.weights.shape[3];
  const std::int64_t group = co / (conv.weights.shape[0] / conv.groups);
  std::int32_t acc = 0;
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t y = oy * window.stride_h + ky * window.dilation_h - window.pad_top;
    if (y < 0 || y >= height) continue;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx) {
      const std::int64_t x = ox * window.stride_w + kx * window.dilation_w - window.pad_left;
      if (x < 0 || x >= width) continue;
      for (std::int64_t ci = 0; ci < depth; ++ci) {
        const std::int64_t index = nhwc_index(height, width, channels, n, y, x, group * depth + ci);
        const std::int64_t weight_index =
            nhwc_index(window.kernel_h, window.kernel_w, depth, co, ky, kx, ci);
        acc = wrapping_mac(acc, quantized_at(input, index) - in.zero_point,
                           weight_at(conv.weights, weight_index));
      }
    }
  }
  return acc;
}

std::int32_t largest(const Window& window, const Value& in, const Tensor& input, std::int64_t n,
                     std::int64_t oy, std::int64_t ox, std::int64_t c) {
  const auto [batch, height, width, channels] = in.shape;
  std::int32_t result = in.min();
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t y = oy * window.stride_h + ky * window.dilation_h - window.pad_top;
    if (y < 0 || y >= height) continue;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx) {
      const std::int64_t x = ox * window.stride_w + kx * window.dilation_w - window.pad_left;
      if (x < 0 || x >= width) continue;
      const std::int64_t index = nhwc_index(height, width, channels, n, y, x, c);
      result = std::max(result, quantized_at(input, index));
    }
  }
  return result;
}

// The sum of x - zero_point under one window.
std::int32_t sum(const Window& window, const Value& in, const Tensor& input, std::int64_t n,
                 std::int64_t oy, std::int64_t ox, std::int64_t c) {
  const auto [batch, height, width, channels] = in.shape;
  std::int32_t result = 0;
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t y = oy * window.stride_h + ky - window.pad_top;
    if (y < 0 || y >= height) continue;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx) {
      const std::int64_t x = ox * window.stride_w + kx - window.pad_left;
      if (x < 0 || x >= width) continue;
      const std::int64_t index = nhwc_index(height, width, channels, n, y, x, c);
      result = wrapping_mac(result, quantized_at(input, index) - in.zero_point, 1);
    }
  }
  return result;
}

// Convolution as its definition reads: seven loops and a requantization.
Tensor reference(const Conv2d& conv, const LayerValues& values, Operands inputs) {
  const Value& input_value = *values.inputs[0];
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  const auto [batch, height, width, channels] = output_value.shape;
  const auto bias = conv.bias.as<std::int32_t>();
  const Requantization& rq = conv.requantization;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t oy = 0; oy < height; ++oy) {
      for (std::int64_t ox = 0; ox < width; ++ox) {
        for (std::int64_t co = 0; co < channels; ++co) {
          const std::int32_t acc = accumulate(conv, input_value, input, n, oy, ox, co);
          set_quantized(
              output, nhwc_index(height, width, channels, n, oy, ox, co),
              rq.level(acc, bias[static_cast<std::size_t>(co)], co, output_value.zero_point));
        }
      }
    }
  }
  return output;
}

// A fully connected layer as its definition reads: three loops and a requantization.
Tensor reference(const FullyConnected& fc, const LayerValues& values, Operands inputs) {
  const Value& input_value = *values.inputs[0];
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  const std::int64_t depth = input_value.shape.channels;
  const std::int64_t channels = output_value.shape.channels;
  const auto bias = fc.bias.as<std::int32_t>();
  const Requantization& rq = fc.requantization;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < output_value.shape.batch; ++n) {
    for (std::int64_t co = 0; co < channels; ++co) {
      std::int32_t acc = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        acc = wrapping_mac(acc, quantized_at(input, n * depth + k) - input_value.zero_point,
                           weight_at(fc.weights, co * depth + k));
      }
      set_quantized(output, n * channels + co,
                    rq.level(acc, bias[static_cast<std::size_t>(co)], co, output_value.zero_point));
    }
  }
  return output;
}

// Max-pooling as its definition reads. Positions outside the picture are absent, not zero.
Tensor reference(const MaxPool& pool, const LayerValues& values, Operands inputs) {
  const Value& input_value = *values.inputs[0];
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  const auto [batch, height, width, channels] = output_value.shape;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t oy = 0; oy < height; ++oy) {
      for (std::int64_t ox = 0; ox < width; ++ox) {
        for (std::int64_t c = 0; c < channels; ++c) {
          set_quantized(output, nhwc_index(height, width, channels, n, oy, ox, c),
                        largest(pool.window, input_value, input, n, oy, ox, c));
        }
      }
    }
  }
  return output;
}

// Average-pooling as its definition reads. Positions outside the picture add nothing.
Tensor reference(const AveragePool& pool, const LayerValues& values, Operands inputs) {
  const Value& input_value = *values.inputs[0];
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  const auto [batch, height, width, channels] = output_value.shape;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t oy = 0; oy < height; ++oy) {
      for (std::int64_t ox = 0; ox < width; ++ox) {
        const std::int64_t count = average_count(pool, input_value.shape, oy, ox);
        const auto requantizer = average_requantizer(pool, input_value, output_value, count);
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int32_t psum = sum(pool.window, input_value, input, n, oy, ox, c);
          set_quantized(
              output, nhwc_index(height, width, channels, n, oy, ox, c),
              requantize(psum, 0, requantizer.value(), output_value.zero_point, pool.lo, pool.hi));
        }
      }
    }
  }
  return output;
}

Tensor reference(const Relu&, const LayerValues& values, Operands inputs) {
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t i = 0; i < output.elems(); ++i) {
    set_quantized(output, i, std::max(quantized_at(input, i), output_value.zero_point));
  }
  return output;
}

Tensor reference(const Add& add, const LayerValues& values, Operands inputs) {
  const Value& a_value = *values.inputs[0];
  const Value& b_value = *values.inputs[1];
  const Value& output_value = values.output;
  const Tensor& a = *inputs[0];
  const Tensor& b = *inputs[1];
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

Tensor reference(const Concat&, const LayerValues& values, Operands inputs) {
  const Value& output_value = values.output;
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

Tensor reference(const LookupTable& table, const LayerValues& values, Operands inputs) {
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::size_t i = 0; i < output.bytes.size(); ++i) {
    output.bytes[i] =
        static_cast<std::byte>(table.bytes[std::to_integer<std::size_t>(input.bytes[i])]);
  }
  return output;
}

// Each line rounds once, as ONNX Runtime's DequantizeLinear, PRelu and QuantizeLinear do.
Tensor reference(const PRelu& prelu, const LayerValues& values, Operands inputs) {
  const Value& input_value = *values.inputs[0];
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
  const std::int64_t channels = output_value.shape.channels;
  const auto slopes = prelu.slopes.as<float>();
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t i = 0; i < output.elems(); ++i) {
    const float slope = slopes[slopes.size() == 1 ? 0 : static_cast<std::size_t>(i % channels)];
    const std::int32_t centred = quantized_at(input, i) - input_value.zero_point;
    float real = static_cast<float>(centred) * input_value.scale->real();
    if (real < 0) real = slope * real;
    set_quantized(output, i, quantized(real, output_value));
  }
  return output;
}

Tensor reference(const Flatten& flatten, const LayerValues& values, Operands inputs) {
  const Value& input_value = *values.inputs[0];
  const Value& output_value = values.output;
  const Tensor& input = *inputs[0];
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

class ReferenceExecutor : public LayerExecutor {
 public:
  ReferenceExecutor(const Graph& graph, std::size_t layer)
      : operation_(graph.layers[layer].operation), values_(values_of(graph, layer)) {}

  void run(Operands inputs, Tensor& output) const override {
    visit_integer(operation_,
                  [&](const auto& operation) { output = reference(operation, values_, inputs); });
  }

 private:
  const Operation& operation_;
  LayerValues values_;
};

}  // namespace

std::unique_ptr<LayerExecutor> make_reference_executor(const Graph& graph, std::size_t layer) {
  return std::make_unique<ReferenceExecutor>(graph, layer);
}

}  // namespace qsim::golden
