// The middle of an import: a graph of nodes whose ends are known.
#pragma once

#include <vector>

#include "core/network/graph.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/onnx_importer.h"

namespace qsim::formats {

// `nodes` are those on which the output of `model` depends, each after those that it reads. Throws
// the Errors of import_onnx().
Graph import_nodes(ModelGraph& model, std::vector<ModelNode> nodes, const ImportOptions& options);

}  // namespace qsim::formats
