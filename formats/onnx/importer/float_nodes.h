// Which nodes of a quantized file ONNX Runtime runs in float32.
#pragma once

#include <vector>

#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/onnx_importer.h"

namespace qsim::formats {

// The float nodes among `nodes`, in their order.
std::vector<FloatNode> float_nodes(const ModelGraph& model, const std::vector<ModelNode>& nodes);

}  // namespace qsim::formats
