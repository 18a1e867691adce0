#include "tests/quantize/network/plain_network.h"

#include <algorithm>
#include <cmath>

namespace qsim::quantize {
namespace {

// Calls visit(ky, kx, y, x) for the positions of a window inside the picture.
template <typename Visit>
void for_each_position(const Window& w, const ImageShape& in, std::int64_t oy, std::int64_t ox,
                       const Visit& visit) {
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t y = oy * w.stride_h + ky * w.dilation_h - w.pad_top;
      const std::int64_t x = ox * w.stride_w + kx * w.dilation_w - w.pad_left;
      if (y < 0 || x < 0 || y >= in.height || x >= in.width) continue;
      visit(ky, kx, y, x);
    }
  }
}

template <typename Compute>
PlainTensor computed(const ImageShape& shape, const Compute& compute) {
  PlainTensor out{shape,
                  std::vector<double>(static_cast<std::size_t>(element_count(shape.nhwc())))};
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        for (std::int64_t c = 0; c < shape.channels; ++c) out.at(n, y, x, c) = compute(n, y, x, c);
      }
    }
  }
  return out;
}

struct PlainLayer {
  const std::vector<PlainTensor>& inputs;
  const ImageShape& shape;
  const std::vector<double>& weights;

  const PlainTensor& x() const { return inputs[0]; }
  double weight(const Tensor& own, std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return weights.empty() ? own.as<float>()[i] : weights[i];
  }

  PlainTensor operator()(const Conv2d& conv) const {
    const std::int64_t each = x().shape.channels / conv.groups;
    return computed(shape, [&](auto n, auto oy, auto ox, auto co) {
      double sum = conv.bias.as<float>()[static_cast<std::size_t>(co)];
      const std::int64_t first = co / (shape.channels / conv.groups) * each;
      for_each_position(conv.window, x().shape, oy, ox, [&](auto ky, auto kx, auto y, auto px) {
        for (std::int64_t c = 0; c < each; ++c) {
          const std::int64_t at =
              ((co * conv.window.kernel_h + ky) * conv.window.kernel_w + kx) * each + c;
          sum += x().at(n, y, px, first + c) * weight(conv.weights, at);
        }
      });
      return sum;
    });
  }
  PlainTensor operator()(const FullyConnected& linear) const {
    const std::int64_t in = x().shape.channels;
    return computed(shape, [&](auto n, auto, auto, auto co) {
      double sum = linear.bias.as<float>()[static_cast<std::size_t>(co)];
      for (std::int64_t k = 0; k < in; ++k) {
        sum += x().at(n, 0, 0, k) * weight(linear.weights, co * in + k);
      }
      return sum;
    });
  }
  PlainTensor operator()(const MaxPool& pool) const {
    return computed(shape, [&](auto n, auto oy, auto ox, auto c) {
      double most = -HUGE_VAL;
      for_each_position(pool.window, x().shape, oy, ox, [&](auto, auto, auto y, auto px) {
        most = std::max(most, x().at(n, y, px, c));
      });
      return most;
    });
  }
  PlainTensor operator()(const AveragePool& pool) const {
    const Window& w = pool.window;
    const ImageShape padded{1, x().shape.height + w.pad_top + w.pad_bottom,
                            x().shape.width + w.pad_left + w.pad_right, 1};
    Window whole = w;
    whole.pad_top = whole.pad_left = 0;
    return computed(shape, [&](auto n, auto oy, auto ox, auto c) {
      double sum = 0;
      int inside = 0;
      for_each_position(w, x().shape, oy, ox, [&](auto, auto, auto y, auto px) {
        sum += x().at(n, y, px, c);
        ++inside;
      });
      int all = 0;
      for_each_position(whole, padded, oy, ox, [&](auto, auto, auto, auto) { ++all; });
      return sum / (pool.count_include_pad ? all : inside);
    });
  }
  PlainTensor operator()(const Add&) const {
    return computed(shape, [&](auto n, auto y, auto px, auto c) {
      return inputs[0].at(n, y, px, c) + inputs[1].at(n, y, px, c);
    });
  }
  PlainTensor operator()(const Concat&) const {
    return computed(shape, [&](auto n, auto y, auto px, auto c) {
      std::size_t operand = 0;
      while (c >= inputs[operand].shape.channels) c -= inputs[operand++].shape.channels;
      return inputs[operand].at(n, y, px, c);
    });
  }
  PlainTensor operator()(const Activation& activation) const {
    return computed(shape, [&](auto n, auto y, auto px, auto c) {
      return value(activation, x().at(n, y, px, c));
    });
  }
  PlainTensor operator()(const PRelu& prelu) const {
    return computed(shape, [&](auto n, auto y, auto px, auto c) {
      const double value = x().at(n, y, px, c);
      return value < 0 ? value * prelu.slopes.as<float>()[static_cast<std::size_t>(c)] : value;
    });
  }
  PlainTensor operator()(const Flatten& flatten) const {
    const ImageShape& in = x().shape;
    return computed(shape, [&](auto n, auto, auto, auto k) {
      if (flatten.order == Flatten::Order::kHwc) {
        return x().at(n, k / (in.width * in.channels), k / in.channels % in.width, k % in.channels);
      }
      return x().at(n, k / in.width % in.height, k % in.width, k / (in.height * in.width));
    });
  }

  static double value(const Activation& activation, double x) {
    using Kind = Activation::Kind;
    switch (activation.kind) {
      case Kind::kRelu:
        return std::max(x, 0.0);
      case Kind::kClip:
        return std::min(std::max(x, double{activation.lo}), double{activation.hi});
      case Kind::kLeakyRelu:
        return x < 0 ? x * activation.alpha : x;
      case Kind::kSigmoid:
        return 1 / (1 + std::exp(-x));
      case Kind::kHardSigmoid:
        return std::clamp(x * activation.alpha + activation.beta, 0.0, 1.0);
      case Kind::kHardSwish:
        return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    }
    return 0;
  }
};

}  // namespace

PlainTensor plain_layer(const Operation& operation, const std::vector<PlainTensor>& inputs,
                        const ImageShape& output, const std::vector<double>& weights) {
  PlainTensor computed;
  visit_real(operation, [&](const auto& each) {
    computed = PlainLayer{inputs, output, weights}(each);
  });
  return computed;
}

std::vector<PlainTensor> plain_run(const Graph& graph, const PlainTensor& input) {
  std::vector<PlainTensor> tensors(graph.tensors.size());
  tensors[graph.input] = input;
  for (const Layer& layer : graph.layers) {
    std::vector<PlainTensor> inputs;
    for (const TensorId id : layer.inputs) inputs.push_back(tensors[id]);
    tensors[layer.output] = plain_layer(layer.operation, inputs, graph.tensors[layer.output].shape);
  }
  return tensors;
}

std::vector<TensorStatistics> plain_statistics(const std::vector<PlainTensor>& tensors) {
  std::vector<TensorStatistics> statistics(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<float> values(tensors[i].values.begin(), tensors[i].values.end());
    add_range(values, statistics[i]);
    add_values(values, statistics[i]);
  }
  return statistics;
}

std::vector<int> levels_of(const Tensor& tensor) {
  if (tensor.dtype == DType::kUint8) {
    return {tensor.as<std::uint8_t>().begin(), tensor.as<std::uint8_t>().end()};
  }
  return {tensor.as<std::int8_t>().begin(), tensor.as<std::int8_t>().end()};
}

PlainTensor plain_reals(const Tensor& levels, const Value& value) {
  PlainTensor reals{value.shape, {}};
  for (const int level : levels_of(levels)) {
    reals.values.push_back((level - value.zero_point) * double{value.scale->real()});
  }
  return reals;
}

Tensor plain_levels(const PlainTensor& reals, const Value& value) {
  Tensor levels(value.dtype, reals.shape.nhwc());
  for (std::size_t i = 0; i < reals.values.size(); ++i) {
    const double level =
        std::nearbyint(reals.values[i] / double{value.scale->real()}) + value.zero_point;
    const auto clamped = static_cast<int>(
        std::clamp(level, static_cast<double>(value.min()), static_cast<double>(value.max())));
    levels.bytes[i] = static_cast<std::byte>(clamped & 0xFF);
  }
  return levels;
}

}  // namespace qsim::quantize
