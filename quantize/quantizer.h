// From a float network and the statistics of its tensors to a quantized one: the Graph that the
// importer would read from the file that formats/onnx/exporter writes of it, to the last bit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "core/network/quantized_network.h"
#include "quantize/ranges/clipping.h"
#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {

// How the output of a layer and its weights are quantized.
struct LayerScheme {
  Levels activations = {};  // of the layer's ofmap
  Symmetry symmetry = Symmetry::kAffine;
  ScaleKind kind = ScaleKind::kFloat;  // of activations and weights alike
  Clipping clipping = {};
  WeightScheme weights = {};
};

struct Scheme {
  LayerScheme all;
  std::map<std::string, LayerScheme, std::less<>> layers;  // by name; each complete
  LayerScheme input;                                       // of the network's input
};

// The scheme of a layer: its own, or that of all.
const LayerScheme& scheme_of(const Scheme& scheme, const std::string& layer);

// The quantization of every tensor of a float network; absent where a tensor is only seen inside a
// fused layer (the sums before a ReLU).
using TensorQuantizations = std::vector<std::optional<Quantization>>;

// One statistics a tensor of the graph (see calibrate() in quantize/calibration.h).
TensorQuantizations quantize_tensors(const Graph& graph,
                                     const std::vector<TensorStatistics>& statistics,
                                     const Scheme& scheme);

// An addition takes operands of 2^-16 times the output's scale and more, and less than 2^8 times:
// doubles the scale that is too small until it does. Whether a scale changed.
bool widen_addition(Quantization& operand, Quantization& output);

// What another step has decided for the weights and biases of layers, by the layer's index in
// Graph (learned rounding, GPTQ, bias correction); what is absent is quantized by the scheme.
struct LayerWeights {
  std::optional<QuantizedWeights> weights;
  std::optional<std::vector<float>> bias;  // real numbers, rounded to int32 by the quantizer
  // The scales of `weights` stay as they are, also of channels of zeros, whose scale is the bias's
  // alone: a training has rounded its biases with them.
  bool keeps_scales = false;
};

// Throws Error (exit code 4, all layers listed in details()) for layers that no integer layer
// computes; exit code 3 for weights that are not finite and for a bias that leaves int32.
QuantizedNetwork quantize_network(const Graph& graph, const TensorQuantizations& tensors,
                                  const Scheme& scheme,
                                  const std::map<std::size_t, LayerWeights>& decided = {});

}  // namespace qsim::quantize
