// A Graph together with what its file says and the Graph does not: the scales of its weights. The
// quantizer makes it, the exporter writes it as ONNX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/network/graph.h"

namespace qsim {

// How the weights of a Conv2d or FullyConnected were stored: real = (stored - zero_point) * scale,
// one of both for the tensor or one per output channel. The Graph's weights have the zero_point
// taken off already. `scales` is empty for a layer without weights.
struct WeightScales {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;  // empty: all 0; else of levels 0..255
};

struct QuantizedNetwork {
  Graph graph;                        // every Value has a scale; requantizers round as kFloat32
  std::vector<WeightScales> weights;  // one a layer of the graph
  // One a layer of the graph: the activation that a LookupTable is. Absent for other layers, and
  // for a table that only changes the quantization ("requantize").
  std::vector<std::optional<Activation>> activations;
  // The layer of the float network that a layer of the graph computes (its last one, where several
  // were fused): an index of Graph::layers, or -1.
  std::vector<std::int64_t> real_layers;
};

}  // namespace qsim
