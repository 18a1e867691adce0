// Quantizations that a training has learned, in place of those of an observer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "quantize/quantizer.h"

namespace qsim::quantize {

// Signed integers of `bits` bits, -(2^(bits-1) - 1)..2^(bits-1) - 1, zero_point 0; one scale, or
// one an output channel.
struct GivenWeights {
  std::vector<float> scales;
  int bits = 8;
};

// By the name of a layer; a ReLU after it may be named in its place.
struct GivenScales {
  std::optional<Quantization> input;
  std::map<std::string, Quantization, std::less<>> tensors;
  std::map<std::string, GivenWeights, std::less<>> weights;
};

// Gives these tensors, and those that hold the same numbers, these quantizations. Throws Error
// (exit code 3) for a layer that the network does not have.
void take_scales(const Graph& graph, const GivenScales& given, TensorQuantizations& tensors);

// The weights at these scales: level = clamp(rint(w / scale)). Throws Error (exit code 3) for a
// layer that is not there or has no weights, and for another number of scales.
std::map<std::size_t, LayerWeights> weights_at_scales(const Graph& graph, const GivenScales& given);

}  // namespace qsim::quantize
