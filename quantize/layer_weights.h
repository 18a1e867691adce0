// The integers of a layer's weights and bias, fitted to the scales of the tensors around it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "core/network/quantized_network.h"
#include "quantize/fusion.h"
#include "quantize/quantizer.h"

namespace qsim::quantize {

// Of an operation that has both; nothing for another one.
template <typename AnyTensor>
struct WeightsAndBias {
  AnyTensor* weights;
  AnyTensor* bias;
};
using RealWeights = WeightsAndBias<const Tensor>;
std::optional<RealWeights> weights_of(const Operation& operation);
std::optional<WeightsAndBias<Tensor>> weights_of(Operation& operation);

// The quantizations of what a layer reads and writes; both are absent for float activations.
struct LayerEnds {
  std::optional<Quantization> input;
  std::optional<Quantization> output;
};

// What the layers of `fusion` read and write, one each (of the first operand).
std::vector<LayerEnds> ends_of(const Graph& graph, const Fusion& fusion,
                               const TensorQuantizations& tensors);

// The weights and the bias of one layer, a number a channel.
struct DecidedWeights {
  QuantizedWeights weights;
  std::vector<float> bias;
};

// By the scheme, or what `decided` has. Between quantized tensors the scales are fitted:
// - power-of-two scales so that the shift is 0..16. A psum of 2^24 and more then saturates, so that
//   ONNX Runtime's float32 rounds as a shift does;
// - a channel of zeros has the finest scale of these shifts for its bias;
// - a channel whose bias leaves int32 has a coarser scale, by a power of two.
DecidedWeights decide_weights(const Layer& layer, const LayerScheme& scheme, const LayerEnds& ends,
                              const LayerWeights& decided);

// What a Graph's layer has of them. Throws Error naming the layer: exit code 3 for a bias beyond
// int32 and for scales that are no float32, exit code 4 for weights that no 8 bits hold and for
// psums that may leave int32.
struct IntegerWeights {
  Tensor weights;  // without the zero_points: int8, or int16 where 8 bits do not hold them
  Tensor bias;     // int32
  std::vector<Requantizer> requantizers;
  WeightScales stored;
};
IntegerWeights integer_weights(const Layer& layer, const DecidedWeights& decided,
                               const Quantization& input, const Quantization& output);

}  // namespace qsim::quantize
