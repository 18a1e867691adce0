// The operators that compute nothing, and Softmax and ArgMax, which the host computes.
#include <algorithm>

#include "formats/onnx/importer/pad_amounts.h"
#include "formats/onnx/importer/real/real_constants.h"
#include "formats/onnx/importer/real/real_operators.h"
#include "formats/onnx/importer/shape_rules.h"

namespace qsim::formats {
namespace {

// The same numbers with other axes.
void define_with_axes(const NodeReader& node, RealBuilder& graph, RealTensor tensor, Axes axes) {
  tensor.axes = axes;
  graph.define(node, tensor);
}

void check_fill(const NodeReader& node) {
  float fill = 0;
  if (!has_pad_inputs(node)) {
    fill = NodeAttributes(node, {"mode", "pads", "value"}).real("value", 0.0F);
  } else if (node.has_input(2)) {
    const Tensor constant = real_constant(node, 2, "constant_value");
    if (constant.elems() != 1) {
      node.malformed("constant_value has shape " + shape_text(constant.shape), "one number");
    }
    fill = constant.as<float>()[0];
  }
  if (fill != 0) node.refuse("pads with " + std::to_string(fill), "zeros");
}

// Whether the constant at input `index` is the bool false.
bool is_false(const NodeReader& node, int index) {
  const onnx::TensorProto* proto = node.model().constant(node.input(index));
  if (proto == nullptr || proto->data_type() != onnx::TensorProto::BOOL) return false;
  const auto is_zero = [](auto value) { return value == 0; };
  const bool has_values = proto->int32_data_size() + std::ssize(proto->raw_data()) == 1;
  return has_values && std::ranges::all_of(proto->int32_data(), is_zero) &&
         std::ranges::all_of(proto->raw_data(), is_zero);
}

// Vectors [N, K], or what the host made of them.
RealTensor host_input(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const RealTensor input = graph.host_tensor(node, 0);
  if (input.tail.is_empty()) return graph.tensor(node, 0, Axes::kNk);
  if (input.tail.arg_max) node.refuse("reads what ArgMax gives", "ArgMax at the end of the graph");
  return input;
}

}  // namespace

void import_real_flatten(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const RealTensor input = graph.tensor(node, 0);
  const ShapeChange change = read_flatten(node, input.axes);
  if (input.axes == Axes::kNk) return graph.define(node, input);
  graph.define_flat(node, node.layer_name(), input, change.axes);
}

void import_real_reshape(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(2, 2);
  const RealTensor input = graph.tensor(node, 0);
  const ShapeChange change = read_reshape(node, graph.shape(input), input.axes);
  if (!change.flattens || (input.axes == Axes::kNk && change.axes == Axes::kNk)) {
    return define_with_axes(node, graph, input, change.axes);
  }
  graph.define_flat(node, node.layer_name(), input, change.axes);
}

void import_real_squeeze(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 2);
  const RealTensor input = graph.tensor(node, 0);
  graph.define_flat(node, node.layer_name(), input,
                    read_squeeze(node, graph.shape(input), input.axes));
}

void import_real_unsqueeze(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 2);
  const RealTensor input = graph.tensor(node, 0);
  define_with_axes(node, graph, input, read_unsqueeze(node, graph.shape(input), input.axes));
}

void import_real_transpose(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const RealTensor input = graph.tensor(node, 0);
  const Permutation perm = read_permutation(node, static_cast<int>(rank_of(input.axes)));
  const ImageShape shape = graph.shape(input);
  std::optional<Axes> axes = transposed_axes(shape, input.axes, input.pads != Pads{}, perm);
  if (!axes && perm == kNhwcToNchw && graph.reinterpret_input_as_nhwc(node)) axes = Axes::kNchw;
  if (!axes) refuse_permutation(node, shape, perm);
  define_with_axes(node, graph, input, *axes);
}

void import_real_pad(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 4);
  RealTensor input = graph.tensor(node, 0);
  const Pads pads = read_pad_amounts(node, input.axes);
  if (pads != Pads{}) check_fill(node);
  input.pads = sum_of(input.pads, pads);
  element_count(graph.shape(input).nhwc());  // throws where that overflows
  graph.define(node, input);
}

void import_real_identity(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  graph.define(node, graph.host_tensor(node, 0));
}

void import_real_dropout(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 3);
  const NodeAttributes attributes(node, {"ratio", "seed"});
  if (node.has_input(2) && !is_false(node, 2)) {
    node.refuse("training_mode is not the constant false", "a network that is evaluated");
  }
  graph.define(node, graph.tensor(node, 0));
}

void import_real_cast(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const std::int64_t to = NodeAttributes(node, {"saturate", "to"}).integer("to", 0);
  const RealTensor input = graph.tensor(node, 0);
  if (to != onnx::TensorProto::FLOAT) {
    node.refuse("to = " + std::to_string(to), "1, the type that it reads");
  }
  graph.define(node, input);
}

void import_real_softmax(const NodeReader& node, RealBuilder& graph) {
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", -1);
  RealTensor input = host_input(node, graph);
  require_last_axis(node, axis);
  if (input.tail.softmax) {
    node.refuse("reads what Softmax or ArgMax gives",
                "Softmax and ArgMax at the end of the graph only");
  }
  input.tail.softmax = true;
  graph.define(node, input);
}

void import_real_arg_max(const NodeReader& node, RealBuilder& graph) {
  const NodeAttributes attributes(node, {"axis", "keepdims", "select_last_index"});
  attributes.require_integer("select_last_index", 0);
  RealTensor input = host_input(node, graph);
  require_last_axis(node, attributes.integer("axis", 0));
  input.tail.arg_max = true;
  input.tail.arg_max_keeps_axis = attributes.integer("keepdims", 1) != 0;
  graph.define(node, input);
}

}  // namespace qsim::formats
