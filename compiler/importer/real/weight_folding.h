// Nodes that make a layer's weights of constants, whatever their size: a matrix with its axes
// exchanged, as exporters leave it before MatMul and Gemm, and parts of a tensor joined along axis
// 0.
#pragma once

#include "compiler/importer/model_graph.h"
#include "compiler/importer/node_reader.h"

namespace qsim {

// Adds the output to model's constants. False for any other node.
bool fold_weights(ModelGraph& model, const NodeReader& node);

}  // namespace qsim
