#include "golden/graph/real/fake_graph.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/network/float_rules.h"

namespace qsim::golden {
namespace {

double scale_of(const Value& value) { return value.scale ? value.scale->real() : 1; }

std::int32_t weight_level(const Tensor& weights, std::size_t i) {
  return weights.dtype == DType::kInt16 ? weights.as<std::int16_t>()[i]
                                        : weights.as<std::int8_t>()[i];
}

// Weights and bias of Conv2d or FullyConnected as real numbers.
template <typename Op>
void make_real(const Op& from, const Value& x, const Value& y, Op& to) {
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

// The same of reals: what rounds and clamps has no effect there.
Operation real_operation(const Layer& layer, const Value& x, const Value& y) {
  return std::visit(
      [&](const auto& from) -> Operation {
        using Op = std::decay_t<decltype(from)>;
        if constexpr (requires { from.weights; }) {
          Op to = from;
          make_real(from, x, y, to);
          return to;
        } else if constexpr (std::is_same_v<Op, LookupTable>) {
          return activation_of(from, layer, x, y);
        } else if constexpr (std::is_same_v<Op, Relu>) {
          return Activation{.kind = Activation::Kind::kRelu};
        } else {
          static_assert(Op::kRow.takes_reals);
          return from;
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
  for (const Value& value : graph.tensors) fake.graph.tensors.push_back(real_value(value.shape));
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
    const auto [lo, hi] = clamp_of(layer.operation).value_or(Clamp{output.min(), output.max()});
    fake.rules[layer.output] = rule_of(output, lo, hi);
  }
  return fake;
}

}  // namespace qsim::golden
