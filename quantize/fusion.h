// Which layers of a float network one layer of the Graph computes, and which tensors have one
// quantization between them. Relu and Clip are the clamp of the layer before them where nothing
// else reads that, also across pools, Flatten and Concat: these only select numbers, so
// that they may as well select clamped ones.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "core/network/graph.h"

namespace qsim::quantize {

// A layer that stays, and the Relu and Clip that became its clamp.
struct FusedLayer {
  std::size_t layer = 0;  // of Graph::layers
  std::size_t last = 0;   // the last layer whose numbers it gives
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

struct Fusion {
  std::vector<FusedLayer> layers;  // in the order of the graph
  // By tensor of the Graph: the tensor, one that a layer writes which stays, that holds its
  // numbers. A Relu's output is in the tensor of the layer that clamps.
  std::vector<TensorId> held_in;
  // By tensor that stays: the float network's tensor whose numbers it holds. Absent where the float
  // network has no such tensor: the clamped ofmap of a convolution before a pool and a Relu.
  std::vector<std::optional<TensorId>> content;
  // By tensor that stays: a tensor with the same quantization, equal for all of them. MaxPool,
  // Flatten, Relu and Clip keep the quantization of what they read, and the operands of a Concat
  // have that of its output, except the network's input, which keeps its own.
  std::vector<TensorId> group;
};

Fusion fuse(const Graph& graph);

// Whether an operation gives numbers that it reads, so that it may as well read clamped ones. Relu
// and Clip of real numbers are no such operation.
bool selects(const Operation& operation);

}  // namespace qsim::quantize
