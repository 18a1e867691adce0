// A quantized Graph in fake quantization: the same layers in float32, with the weights and the
// biases that its integers stand for, and each tensor rounded to the levels that it could hold.
#pragma once

#include <optional>
#include <vector>

#include "core/network/graph.h"
#include "golden/graph/real/real_rules.h"

namespace qsim::golden {

struct FakeGraph {
  Graph graph;                                   // tensors and layers as those of the Graph
  std::vector<std::optional<TensorRule>> rules;  // one a tensor
};

// A weight is its level times w = requantizer * y_scale / x_scale, which is the scale that a file
// gave it but for one float32 rounding; a bias is its level times requantizer * y_scale. A Value
// without a scale has the scale 1. Layers round to nearest, ties to even, whatever rounding the
// Graph has. `graph` is valid. Throws Error (exit code 4) naming the layer for a LookupTable that
// is none of the activations that Activation has.
FakeGraph fake_graph(const Graph& graph);

}  // namespace qsim::golden
