// Fake quantization: the float network with weights that have been rounded, and with a rule for
// what becomes of each tensor.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/network/graph.h"
#include "golden/graph/real/real_rules.h"
#include "quantize/quantizer.h"

namespace qsim::quantize {

struct FakeNetwork {
  Graph graph;                                           // with dequantized weights
  std::vector<std::optional<golden::TensorRule>> rules;  // one a tensor
};

// The weights and biases that quantize_network() gives its layers, by index of Graph. Without
// quantizations of tensors (all absent) they are those of a weight-only network.
std::map<std::size_t, LayerWeights> weights_of_layers(
    const Graph& graph, const TensorQuantizations& tensors, const Scheme& scheme,
    const std::map<std::size_t, LayerWeights>& decided = {});

// The uniform rule of every tensor that is quantized.
std::vector<std::optional<golden::TensorRule>> uniform_rules(const TensorQuantizations& tensors);

// Puts dequantized weights and the bias in a convolution or linear layer; what is absent stays.
void set_weights(Operation& operation, const LayerWeights& weights);

// The float network with these weights and biases (layers that are absent keep theirs), and rules.
FakeNetwork fake_network(const Graph& graph, const std::map<std::size_t, LayerWeights>& weights,
                         std::vector<std::optional<golden::TensorRule>> rules);

// float32 [N][H][W][C] to the levels of a Value, as QuantizeLinear.
Tensor quantized_tensor(const Tensor& reals, const Value& value);

}  // namespace qsim::quantize
