#include "compiler/importer/real/weight_folding.h"

#include "compiler/importer/real/real_constants.h"
#include "compiler/importer/real/real_operators.h"
#include "compiler/importer/real/stored_integers.h"
#include "compiler/importer/shape_rules.h"

namespace qsim {
namespace {

bool is_real_constant(const NodeReader& node, int index) {
  return node.is_constant(index) &&
         node.model().constant(node.input(index))->data_type() == onnx::TensorProto::FLOAT;
}

void add_constant(ModelGraph& model, const NodeReader& node, const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  model.add_constant(node.output(), std::move(proto));
}

bool fold_transpose(ModelGraph& model, const NodeReader& node) {
  if (node.inputs() != 1 || !is_real_constant(node, 0)) return false;
  if (model.constant(node.input(0))->dims_size() != 2) return false;
  if (read_permutation(node, 2) != Permutation{1, 0}) return false;
  add_constant(model, node, turned(node.constant(0, "data")));
  return true;
}

bool fold_concat(ModelGraph& model, const NodeReader& node) {
  for (int index = 0; index < node.inputs(); ++index) {
    if (!is_real_constant(node, index)) return false;
  }
  if (node.inputs() == 0 || NodeAttributes(node, {"axis"}).integer("axis", -1) != 0) return false;
  Tensor joined = node.constant(0, "inputs");
  if (joined.shape.empty()) return false;
  for (int index = 1; index < node.inputs(); ++index) {
    const Tensor part = node.constant(index, "inputs");
    Shape same = part.shape;
    if (!same.empty()) same[0] = joined.shape[0];
    if (same != joined.shape) {
      node.malformed("joins " + shape_text(joined.shape) + " and " + shape_text(part.shape),
                     "tensors that differ in axis 0 alone");
    }
    joined.shape[0] += part.shape[0];
    joined.bytes.insert(joined.bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  add_constant(model, node, joined);
  return true;
}

bool fold_integers(ModelGraph& model, const NodeReader& node, RealBuilder& graph) {
  if (!node.has_input(0) || !node.is_constant(0)) return false;
  node.require_inputs(2, 3);
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", 1);
  std::optional<Tensor> zero_points;
  if (node.has_input(2)) zero_points = node.constant(2, "x_zero_point");
  StoredIntegers integers = stored_integers(node, node.constant(0, "x"),
                                            real_constant(node, 1, "x_scale"), zero_points, axis);
  add_constant(model, node, real_numbers(integers));
  graph.set_integers(node.output(), std::move(integers));
  return true;
}

}  // namespace

void import_dequantized_constant(const NodeReader& node, RealBuilder& /*graph*/) {
  node.refuse("dequantizes what the graph computes", "integer constants");
}

bool fold_weights(ModelGraph& model, const NodeReader& node, RealBuilder& graph) {
  if (node.op_type() == "DequantizeLinear") return fold_integers(model, node, graph);
  if (node.op_type() == "Transpose") return fold_transpose(model, node);
  return node.op_type() == "Concat" && fold_concat(model, node);
}

}  // namespace qsim
