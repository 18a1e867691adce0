#include "quantize/fake_network.h"

#include <algorithm>

#include "core/network/float_rules.h"
#include "quantize/fusion.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
std::map<std::size_t, LayerWeights> weights_of_layers(
    const Graph& graph, const TensorQuantizations& tensors, const Scheme& scheme,
    const std::map<std::size_t, LayerWeights>& decided) {
  const Fusion fusion = fuse(graph);
  const std::vector<LayerEnds> ends = ends_of(graph, fusion, tensors);
  std::map<std::size_t, LayerWeights> result;
  for (std::size_t i = 0; i < fusion.layers.size(); ++i) {
    const std::size_t index = fusion.layers[i].layer;
    const Layer& layer = graph.layers[index];
    if (!weights_of(layer.operation)) continue;
    const auto given = decided.find(index);
    DecidedWeights weights =
        decide_weights(layer, scheme_of(scheme, layer.name), ends[i],
                       given == decided.end() ? LayerWeights{} : given->second);
    result[index] = {std::move(weights.weights), std::move(weights.bias)};
  }
  return result;
}

std::vector<std::optional<golden::TensorRule>> uniform_rules(const TensorQuantizations& tensors) {
  std::vector<std::optional<golden::TensorRule>> rules;
  for (const auto& tensor : tensors) {
    rules.emplace_back();
    if (!tensor) continue;
    rules.back() = golden::UniformRule{tensor->scale, tensor->zero_point, tensor->lo, tensor->hi};
  }
  return rules;
}

void set_weights(Operation& operation, const LayerWeights& weights) {
  const auto own = weights_of(operation);
  if (!own) return;
  if (weights.weights) *own->weights = dequantize(*weights.weights);
  if (weights.bias) std::ranges::copy(*weights.bias, own->bias->as<float>().begin());
}

FakeNetwork fake_network(const Graph& graph, const std::map<std::size_t, LayerWeights>& weights,
                         std::vector<std::optional<golden::TensorRule>> rules) {
  FakeNetwork fake{graph, std::move(rules)};
  for (const auto& [index, layer] : weights) set_weights(fake.graph.layers[index].operation, layer);
  return fake;
}

Tensor quantized_tensor(const Tensor& reals, const Value& value) {
  Tensor levels(value.dtype, reals.shape);
  std::ranges::transform(reals.as<float>(), levels.bytes.begin(), [&](float real) {
    return static_cast<std::byte>(quantized(real, value) & 0xFF);
  });
  return levels;
}

}  // namespace qsim::quantize
