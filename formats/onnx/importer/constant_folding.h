// Nodes that compute with constants alone, as exporters leave them around Pad and Reshape: they are
// computed here, and their output is a constant.
#pragma once

#include <functional>
#include <optional>

#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// The sizes of a tensor that the graph computes, input 0 of a node, in the order of its axes;
// nothing for any other input.
using ShapeOfInput = std::function<std::optional<Shape>(const NodeReader& node)>;

// Adds the output to model's constants. False for a node that is not of this kind: another
// operator, an input that is not a small constant (Shape reads any tensor of the graph).
bool fold_constants(ModelGraph& model, const NodeReader& node, const ShapeOfInput& shape_of_input);

// Whether the operator is one that fold_constants() knows.
bool is_folded_operator(const onnx::NodeProto& node);

}  // namespace qsim::formats
