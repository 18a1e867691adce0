// The operators that compute nothing: Flatten, Reshape, Squeeze, Unsqueeze, Identity, Cast,
// Transpose.
#include "core/base/printable.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/shape_rules.h"

namespace qsim::formats {
namespace {

// `axes` are those of the result: kNk, or kNchw for [N, K, 1, 1].
void define_flatten(const NodeReader& node, GraphBuilder& graph, ImportedTensor input, Axes axes) {
  input.id = graph.without_pads(node, input).id;
  input.pads = {};
  const ImageShape& in = graph.value(input).shape;
  const auto order = input.axes == Axes::kNhwc ? Flatten::Order::kHwc : Flatten::Order::kChw;
  graph.define_moved(node, input, Flatten{order}, {in.batch, 1, 1, elems_of_picture(in)}, axes);
}

// The same numbers with other axes.
void define_with_axes(const NodeReader& node, GraphBuilder& graph, ImportedTensor input,
                      Axes axes) {
  input.axes = axes;
  graph.define(node, std::move(input));
}

// A constant after a DequantizeLinear, turned: weights of MatMul.
bool transposes_constant(const NodeReader& node, GraphBuilder& graph) {
  const ImportedTensor* found = graph.find(node, 0);
  if (found == nullptr || found->kind != ImportedTensor::Kind::kConstant) return false;
  const onnx::TensorProto& constant = *node.model().constant(found->node.proto->input(0));
  const Shape shape(constant.dims().begin(), constant.dims().end());
  const Permutation perm = read_permutation(node, constant.dims_size());
  if (perm != Permutation{1, 0}) {
    node.refuse("perm = " + shape_text(perm) + " of the constant '" +
                    echoed(found->node.proto->input(0)) + "' " + shape_text(shape),
                "perm [1, 0] of a matrix");
  }
  ImportedTensor result = *found;
  result.transposed = !result.transposed;
  graph.define(node, std::move(result));
  return true;
}

}  // namespace

void import_flatten(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const ImportedTensor input = graph.moved(node, 0);
  define_flatten(node, graph, input, read_flatten(node, input.axes).axes);
}

void import_reshape(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 2);
  const ImportedTensor input = graph.moved(node, 0);
  const ShapeChange change = read_reshape(node, graph.shape(input), input.axes);
  if (change.flattens) return define_flatten(node, graph, input, change.axes);
  define_with_axes(node, graph, input, change.axes);
}

void import_squeeze(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 2);
  const ImportedTensor input = graph.moved(node, 0);
  define_with_axes(node, graph, input, read_squeeze(node, graph.shape(input), input.axes));
}

void import_unsqueeze(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 2);
  const ImportedTensor input = graph.moved(node, 0);
  define_with_axes(node, graph, input, read_unsqueeze(node, graph.shape(input), input.axes));
}

void import_identity(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  graph.define(node, graph.tensor(node, 0));
}

// Drops a Cast of activations to the type that they have; refuses any other.
void import_cast(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"saturate", "to"});
  const ImportedTensor& input = graph.tensor(node, 0);
  const bool is_real = input.kind != ImportedTensor::Kind::kLevels;
  const int own = is_real                            ? onnx::TensorProto::FLOAT
                  : graph.value(input).is_unsigned() ? onnx::TensorProto::UINT8
                                                     : onnx::TensorProto::INT8;
  const std::int64_t to = attributes.integer("to", 0);
  if (to != own) {
    node.refuse("to = " + std::to_string(to), std::to_string(own) + ", the type that it reads");
  }
  graph.define(node, input);
}

void import_transpose(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  if (transposes_constant(node, graph)) return;
  const ImportedTensor input = graph.moved(node, 0);
  const Permutation perm = read_permutation(node, static_cast<int>(rank_of(input.axes)));
  std::optional<Axes> axes =
      transposed_axes(graph.value(input).shape, input.axes, input.pads != Pads{}, perm);
  if (!axes && perm == kNhwcToNchw && graph.reinterpret_input_as_nhwc(node)) axes = Axes::kNchw;
  if (!axes) refuse_permutation(node, graph.shape(input), perm);
  define_with_axes(node, graph, input, *axes);
}

}  // namespace qsim::formats
