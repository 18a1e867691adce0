// Fake quantization: the float network with weights that have been rounded, and with a rule for
// what becomes of each tensor. And how far it is from the integer-only network.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/quantized_network.h"
#include "core/real_graph.h"
#include "golden/common/thread_team.h"
#include "golden/real/real_rules.h"
#include "quantize/quantizer.h"

namespace qsim::quantize {

struct FakeNetwork {
  RealGraph graph;                                       // with dequantized weights
  std::vector<std::optional<golden::TensorRule>> rules;  // one a tensor
};

// The weights and biases that quantize_network() gives its layers, by index of RealGraph. Without
// quantizations of tensors (all absent) they are those of a weight-only network.
std::map<std::size_t, LayerWeights> weights_of_layers(
    const RealGraph& graph, const TensorQuantizations& tensors, const Scheme& scheme,
    const std::map<std::size_t, LayerWeights>& decided = {});

// The uniform rule of every tensor that is quantized.
std::vector<std::optional<golden::TensorRule>> uniform_rules(const TensorQuantizations& tensors);

// Puts dequantized weights and the bias in a convolution or linear layer; what is absent stays.
void set_weights(RealOperation& operation, const LayerWeights& weights);

// The float network with these weights and biases (layers that are absent keep theirs), and rules.
FakeNetwork fake_network(const RealGraph& graph, const std::map<std::size_t, LayerWeights>& weights,
                         std::vector<std::optional<golden::TensorRule>> rules);

// How far apart two outputs are, in real numbers.
struct OutputDistance {
  double largest = 0;  // |a - b|
  double mean = 0;     // of |a - b|
  double root_mean_square = 0;
  std::int64_t pictures = 0;
  std::int64_t equal_classes = 0;  // pictures whose first largest number is at the same place
};

// Two float32 tensors of one shape, the first axis the pictures.
OutputDistance distance(const Tensor& a, const Tensor& b);

// float32 [N][H][W][C] to the levels of a Value and back, as QuantizeLinear and DequantizeLinear.
Tensor quantized_tensor(const Tensor& reals, const Value& value);
Tensor dequantized_tensor(const Tensor& levels, const Value& value);

// The output of fake quantization against that of the integer-only network, which golden computes,
// of float32 pictures [N][H][W][C].
OutputDistance fake_against_integer(const FakeNetwork& fake, const QuantizedNetwork& integer,
                                    const Tensor& pictures, golden::ThreadTeam& team);

}  // namespace qsim::quantize
