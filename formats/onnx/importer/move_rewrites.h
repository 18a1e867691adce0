// Where a file quantizes what it has moved: the same levels, quantized before the move.
#pragma once

#include <vector>

#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// A layer, then Reshape, Flatten, Squeeze, Unsqueeze or Transpose, then QuantizeLinear: the layer
// gets a QuantizeLinear and a DequantizeLinear of the same scale before the first of these. `nodes`
// are those of nodes_in_order(); what is made is in model.made_nodes.
void quantize_before_moves(ModelGraph& model, std::vector<ModelNode>& nodes);

}  // namespace qsim::formats
