// What a model's weights and biases will take as a Graph, from what the file declares.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// Bytes of the int8, uint8 and int32 constants (with `is_real`: of the float32 ones) that `nodes`
// read, each as often as it is read: every node has a copy of its own. External data counts as its
// shape declares. A malformed constant counts as nothing: its node refuses it.
std::int64_t weight_bytes(const ModelGraph& graph, const std::vector<ModelNode>& nodes,
                          bool is_real = false);

}  // namespace qsim::formats
