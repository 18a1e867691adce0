#include "golden/real/fake_graph.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/float_rules.h"

namespace qsim::golden {
namespace {

double scale_of(const Value& value) { return value.scale ? value.scale->real() : 1; }

std::int32_t weight_level(const Tensor& weights, std::size_t i) {
  return weights.dtype == DType::kInt16 ? weights.as<std::int16_t>()[i]
                                        : weights.as<std::int8_t>()[i];
}

// Weights and bias of Conv2d or FullyConnected as real numbers.
template <typename Integer, typename Real>
void make_real(const Integer& from, const Value& x, const Value& y, Real& to) {
  to.weights = Tensor(DType::kFloat32, from.weights.shape);
  to.bias = Tensor(DType::kFloat32, from.bias.shape);
  const auto channels = static_cast<std::size_t>(from.weights.shape.front());
  const std::size_t each = static_cast<std::size_t>(from.weights.elems()) / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const auto channel = static_cast<std::int64_t>(c);
    const double psum = exact_scale(from.requantization.requantizer(channel)) * scale_of(y);
    const auto weight = static_cast<float>(psum / scale_of(x));
    for (std::size_t i = c * each; i < (c + 1) * each; ++i) {
      to.weights.template as<float>()[i] =
          static_cast<float>(weight_level(from.weights, i)) * weight;
    }
    to.bias.template as<float>()[c] =
        static_cast<float>(from.bias.template as<std::int32_t>()[c] * psum);
  }
}

// The activation whose table this is; what its name says is not enough, since alpha is not in it.
Activation activation_of(const LookupTable& table, const Layer& layer, const Value& x,
                         const Value& y) {
  using Kind = Activation::Kind;
  if (table.bytes == requantizing_table(x, y)) return {.kind = Kind::kClip};
  const std::array candidates = {Activation{.kind = Kind::kRelu},
                                 Activation{.kind = Kind::kClip, .lo = 0, .hi = 6},
                                 Activation{.kind = Kind::kSigmoid},
                                 Activation{.kind = Kind::kHardSwish},
                                 Activation{Kind::kHardSigmoid, 1.0f / 6, 0.5f},
                                 Activation{Kind::kHardSigmoid, 0.2f, 0.5f},
                                 Activation{Kind::kLeakyRelu, 0.01f},
                                 Activation{Kind::kLeakyRelu, 0.1f},
                                 Activation{Kind::kLeakyRelu, 0.2f}};
  for (const Activation& candidate : candidates) {
    if (table_of(candidate, x, y) == table.bytes) return candidate;
  }
  throw_unsupported(layer_place(layer.name, layer.source) + ": its table (" + table.function +
                    ") is none of the functions that fake quantization knows");
}

// The levels that an output can have; of a layer that rounds nothing those of its Value.
std::pair<std::int32_t, std::int32_t> levels_of(const Operation& operation, const Value& output) {
  return std::visit(
      [&](const auto& layer) -> std::pair<std::int32_t, std::int32_t> {
        using T = std::decay_t<decltype(layer)>;
        if constexpr (std::is_same_v<T, Conv2d> || std::is_same_v<T, FullyConnected>) {
          return {layer.requantization.lo, layer.requantization.hi};
        } else if constexpr (std::is_same_v<T, AveragePool> || std::is_same_v<T, Add>) {
          return {layer.lo, layer.hi};
        } else {
          return {output.min(), output.max()};
        }
      },
      operation);
}

Operation real_operation(const Layer& layer, const Value& x, const Value& y) {
  return std::visit(
      [&](const auto& from) -> Operation {
        using T = std::decay_t<decltype(from)>;
        if constexpr (std::is_same_v<T, Conv2d>) {
          Conv2d to{from.window, {}, {}, from.groups};
          make_real(from, x, y, to);
          return to;
        } else if constexpr (std::is_same_v<T, FullyConnected>) {
          FullyConnected to;
          make_real(from, x, y, to);
          return to;
        } else if constexpr (std::is_same_v<T, MaxPool>) {
          return MaxPool{from.window};
        } else if constexpr (std::is_same_v<T, Relu>) {
          return Activation{.kind = Activation::Kind::kRelu};
        } else if constexpr (std::is_same_v<T, Flatten>) {
          return Flatten{from.order};
        } else if constexpr (std::is_same_v<T, AveragePool>) {
          return AveragePool{from.window, from.count_include_pad};
        } else if constexpr (std::is_same_v<T, Add>) {
          return Add{};
        } else if constexpr (std::is_same_v<T, Concat>) {
          return Concat{};
        } else if constexpr (std::is_same_v<T, PRelu>) {
          return from;
        } else {
          return activation_of(from, layer, x, y);
        }
      },
      layer.operation);
}

UniformRule rule_of(const Value& value, std::int32_t lo, std::int32_t hi) {
  return {static_cast<float>(scale_of(value)), value.zero_point, lo, hi};
}

}  // namespace

FakeGraph fake_graph(const Graph& graph) {
  FakeGraph fake;
  fake.graph.name = graph.name;
  fake.graph.tensors.clear();
  for (const Value& value : graph.tensors) fake.graph.tensors.push_back(value.shape);
  fake.graph.input = graph.input;
  fake.graph.output = graph.output;
  fake.graph.host = graph.host;
  fake.rules.resize(graph.tensors.size());
  const Value& input = graph.input_value();
  fake.rules[graph.input] = rule_of(input, input.min(), input.max());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const Value& output = graph.output_of(i);
    fake.graph.layers.push_back({layer.name, real_operation(layer, graph.input_of(i), output),
                                 layer.inputs, layer.output, layer.source});
    const auto [lo, hi] = levels_of(layer.operation, output);
    fake.rules[layer.output] = rule_of(output, lo, hi);
  }
  return fake;
}

}  // namespace qsim::golden
