// y = scale * x + shift for each channel: batch normalization, and constants that are added or
// multiplied. Each is a layer of its own first; those right after a layer with weights become part
// of it. docs/reference/onnx.md derives it.
#pragma once

#include <optional>
#include <vector>

#include "core/network/hybrid_network.h"

namespace qsim::formats {

// What is still to be done to the output channels of a layer with weights, in double: its weights
// and bias become float32 once, when nothing more can come.
struct ChannelMap {
  std::vector<double> scale;  // of the weights
  std::vector<double> shift;  // the bias; the layer's own tensor is not filled before
  // The layer was made for the map: 1x1, a group a channel, weights 1.
  bool is_alone = false;
};

// `then` after `first`.
ChannelMap composed(const ChannelMap& first, const ChannelMap& then);

// A layer for a map alone; `window` has its pads.
Conv2d map_layer(std::int64_t channels, const Window& window);

// A Graph whose layers with weights have maps, one a layer.
struct MappedGraph {
  Graph graph;
  std::vector<std::optional<ChannelMap>> maps;
  std::vector<std::optional<RealLayerWeights>> integers;  // of layers; as long as `maps`
  std::map<TensorId, TensorRule> rules;
};

// The graph without layers that the output does not depend on. A map alone that is the only reader
// of a layer with a map becomes part of that, unless it pads or a rule is between them. Then each
// map goes into weights, their scales where they are integers, and bias. Throws Error (exit code 4)
// where integer weights are multiplied by a number that is not positive.
HybridNetwork folded(MappedGraph mapped);

}  // namespace qsim::formats
