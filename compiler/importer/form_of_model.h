// What kind of file a model is, before any node is read.
#pragma once

#include <vector>

#include "compiler/importer/model_graph.h"

namespace qsim {

// Throws Error (exit code 4) for a model of float32 operators alone, and for one that is quantized
// while it runs; the message says what to do.
void require_quantized_form(const ModelGraph& model, const std::vector<ModelNode>& nodes);

// The first node of a quantized operator, static or dynamic; null where there is none.
const ModelNode* first_quantized(const std::vector<ModelNode>& nodes);

}  // namespace qsim
