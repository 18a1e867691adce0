// Nodes that make a layer's weights of constants, whatever their size: a matrix with its axes
// exchanged, as exporters leave it before MatMul and Gemm, and parts of a tensor joined along axis
// 0; and integers that a DequantizeLinear makes real.
#pragma once

#include "compiler/importer/model_graph.h"
#include "compiler/importer/node_reader.h"
#include "compiler/importer/real/real_builder.h"

namespace qsim {

// Adds the output to model's constants, and integers to the graph's. False for any other node.
bool fold_weights(ModelGraph& model, const NodeReader& node, RealBuilder& graph);

}  // namespace qsim
