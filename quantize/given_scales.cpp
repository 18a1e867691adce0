#include "quantize/given_scales.h"

#include <algorithm>
#include <cmath>

#include "core/base/nearest_name.h"
#include "core/base/printable.h"
#include "quantize/fusion.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

std::size_t layer_named(const Graph& graph, const std::string& name) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (graph.layers[i].name == name) return i;
    names.push_back(graph.layers[i].name);
  }
  throw_bad_input("the scales name the layer '" + echoed(name) + "', which the network does not " +
                  "have; its layers: " + nearest_names(name, names));
}

QuantizedWeights weights_at(const Tensor& weights, const GivenWeights& given) {
  const double most = std::exp2(given.bits - 1) - 1;
  QuantizedWeights result;
  result.levels = Tensor(DType::kInt16, weights.shape);
  result.scales = given.scales;
  result.zero_points.assign(given.scales.size(), 0);
  const auto real = weights.as<float>();
  const auto levels = result.levels.as<std::int16_t>();
  const std::size_t each = real.size() / static_cast<std::size_t>(weights.shape[0]);
  for (std::size_t i = 0; i < real.size(); ++i) {
    const double scale = static_cast<double>(given.scales[given.scales.size() == 1 ? 0 : i / each]);
    const double level = std::nearbyint(static_cast<double>(real[i]) / scale);
    levels[i] = static_cast<std::int16_t>(std::clamp(level, -most, most));
  }
  return result;
}

}  // namespace

void take_scales(const Graph& graph, const GivenScales& given, TensorQuantizations& tensors) {
  const Fusion fusion = fuse(graph);
  const auto take = [&](TensorId named, const Quantization& quantization) {
    const TensorId group = fusion.group[fusion.held_in[named]];
    for (TensorId tensor = 0; tensor < graph.tensors.size(); ++tensor) {
      const auto& content = fusion.content[tensor];
      if (content && fusion.group[tensor] == group) tensors[*content] = quantization;
    }
  };
  if (given.input) take(graph.input, *given.input);
  for (const auto& [name, quantization] : given.tensors) {
    take(graph.layers[layer_named(graph, name)].output, quantization);
  }
}

std::map<std::size_t, LayerWeights> weights_at_scales(const Graph& graph,
                                                      const GivenScales& given) {
  std::map<std::size_t, LayerWeights> result;
  for (const auto& [name, weights] : given.weights) {
    const std::size_t index = layer_named(graph, name);
    const auto real = weights_of(graph.layers[index].operation);
    if (!real) {
      throw_bad_input("the scales have weights of the layer '" + echoed(name) +
                      "', which has none");
    }
    const auto channels = static_cast<std::size_t>(real->weights->shape[0]);
    if (weights.scales.size() != 1 && weights.scales.size() != channels) {
      throw_bad_input("the scales have " + std::to_string(weights.scales.size()) +
                      " scales of the weights of '" + echoed(name) + "'; expected 1 or " +
                      std::to_string(channels) + ", one an output channel");
    }
    result[index].weights = weights_at(*real->weights, weights);
    result[index].keeps_scales = true;
  }
  return result;
}

}  // namespace qsim::quantize
