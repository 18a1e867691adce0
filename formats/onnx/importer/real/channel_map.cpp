#include "formats/onnx/importer/real/channel_map.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::formats {
namespace {

// How many operands of layers that the output depends on are each tensor; the output itself is one
// more.
std::vector<int> readers_of(const Graph& graph) {
  std::vector<int> readers(graph.tensors.size(), 0);
  ++readers[graph.output];
  for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer) {
    if (readers[layer->output] == 0) continue;
    for (const TensorId input : layer->inputs) ++readers[input];
  }
  return readers;
}

bool has_pads(const Layer& layer) {
  const Window& window = std::get<Conv2d>(layer.operation).window;
  return window.pad_top != 0 || window.pad_left != 0 || window.pad_bottom != 0 ||
         window.pad_right != 0;
}

// Moves maps into the layers before them. By layer, whether it is left out.
std::vector<bool> merge_maps(MappedGraph& mapped) {
  Graph& graph = mapped.graph;
  const std::vector<int> readers = readers_of(graph);
  constexpr auto kNobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> writers(graph.tensors.size(), kNobody);
  std::vector<bool> is_gone(graph.layers.size(), false);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    is_gone[i] = readers[layer.output] == 0;
    writers[layer.output] = i;
    if (is_gone[i] || !mapped.maps[i] || !mapped.maps[i]->is_alone || has_pads(layer)) continue;
    const TensorId input = layer.inputs[0];
    const std::size_t before = writers[input];
    if (before == kNobody || readers[input] != 1 || !mapped.maps[before]) continue;
    if (mapped.rules.contains(input)) continue;
    mapped.maps[before] = composed(*mapped.maps[before], *mapped.maps[i]);
    graph.layers[before].output = layer.output;
    graph.layers[before].tensor = layer.tensor;
    writers[layer.output] = before;
    is_gone[i] = true;
  }
  return is_gone;
}

template <typename Layer>
void apply(Layer& layer, const ChannelMap& map) {
  const std::span<float> weights = layer.weights.template as<float>();
  const std::size_t channels = map.scale.size();
  const std::size_t each = weights.size() / channels;
  layer.bias = Tensor(DType::kFloat32, {static_cast<std::int64_t>(channels)});
  for (std::size_t co = 0; co < channels; ++co) {
    layer.bias.template as<float>()[co] = static_cast<float>(map.shift[co]);
    if (map.scale[co] == 1.0) continue;
    for (float& weight : weights.subspan(co * each, each)) {
      weight = static_cast<float>(static_cast<double>(weight) * map.scale[co]);
    }
  }
}

// A scale for each channel, where the map has other factors than 1.
void scale(const Layer& layer, const ChannelMap& map, std::vector<float>& scales) {
  if (std::ranges::all_of(map.scale, [](double factor) { return factor == 1.0; })) return;
  if (scales.size() == 1) scales.resize(map.scale.size(), scales[0]);
  for (std::size_t co = 0; co < scales.size(); ++co) {
    if (!(map.scale[co] > 0)) {
      throw_unsupported(layer_place(layer.name, layer.source) +
                        ": its integer weights of channel " + std::to_string(co) +
                        " are multiplied by " + std::to_string(map.scale[co]) +
                        "; supported: numbers above 0");
    }
    scales[co] = static_cast<float>(static_cast<double>(scales[co]) * map.scale[co]);
  }
}

}  // namespace

ChannelMap composed(const ChannelMap& first, const ChannelMap& then) {
  ChannelMap both = first;
  for (std::size_t co = 0; co < both.scale.size(); ++co) {
    both.scale[co] = then.scale[co] * first.scale[co];
    both.shift[co] = then.scale[co] * first.shift[co] + then.shift[co];
  }
  return both;
}

Conv2d map_layer(std::int64_t channels, const Window& window) {
  Conv2d conv;
  conv.window = window;
  conv.groups = channels;
  conv.weights = Tensor(DType::kFloat32, {channels, 1, 1, 1});
  std::ranges::fill(conv.weights.as<float>(), 1.0F);
  return conv;
}

HybridNetwork folded(MappedGraph mapped) {
  const std::vector<bool> is_gone = merge_maps(mapped);
  Graph& graph = mapped.graph;
  std::vector<TensorId> id_of(graph.tensors.size(), 0);
  HybridNetwork result;
  result.graph.name = std::move(graph.name);
  result.graph.host = graph.host;
  result.graph.input_value() = graph.input_value();
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (is_gone[i]) continue;
    Layer& layer = graph.layers[i];
    if (auto* conv = std::get_if<Conv2d>(&layer.operation)) apply(*conv, *mapped.maps[i]);
    if (auto* linear = std::get_if<FullyConnected>(&layer.operation))
      apply(*linear, *mapped.maps[i]);
    if (auto& integers = mapped.integers[i]) {
      std::visit([&](auto& own) { scale(layer, *mapped.maps[i], own.scales); }, integers->weights);
      result.weights[result.graph.layers.size()] = std::move(*integers);
    }
    std::vector<TensorId> inputs;
    for (const TensorId input : layer.inputs) inputs.push_back(id_of[input]);
    id_of[layer.output] =
        append(result.graph, std::move(layer.name), std::move(layer.operation), std::move(inputs),
               graph.tensors[layer.output], std::move(layer.source));
    result.graph.layers.back().tensor = std::move(layer.tensor);
  }
  for (const auto& [id, rule] : mapped.rules) {
    if (id != graph.input && id_of[id] == 0) continue;  // of a tensor that nothing depends on
    result.rules.resize(result.graph.tensors.size());
    result.rules[id_of[id]] = rule;
  }
  return result;
}

}  // namespace qsim::formats
