// Softmax and ArgMax at the end of a graph, and QLinearSoftmax: the host computes them.
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/shape_rules.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

// Vectors [N, K], or what the host made of them so far, as a tensor of the host.
ImportedTensor host_input(const NodeReader& node, GraphBuilder& graph) {
  ImportedTensor input = graph.tensor(node, 0);
  if (input.kind != Kind::kHost) {
    input = graph.moved(node, 0);
    if (input.kind == Kind::kReal || input.function) graph.dequantized(node, 0);  // refuses it
    input.is_real = input.kind == Kind::kReals;
    input.kind = Kind::kHost;
  }
  graph.require_axes(node, input, Axes::kNk);
  if (input.tail.arg_max) node.refuse("reads what ArgMax gives", "ArgMax at the end of the graph");
  return input;
}

}  // namespace

void import_softmax(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"axis"});
  ImportedTensor input = host_input(node, graph);
  require_last_axis(node, attributes.integer("axis", -1));
  if (!input.is_real || input.tail.softmax) {
    node.refuse("reads no float32 numbers straight after a DequantizeLinear",
                "Softmax of the dequantized output");
  }
  input.tail.softmax = true;
  graph.define(node, std::move(input));
}

void import_qlinear_softmax(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(5, 5);
  const NodeAttributes attributes(node, {"axis", "opset"});
  const DType dtype = graph.value(graph.levels(node, 0)).dtype;
  graph.levels(node, 0, read_quantization(node, 1, "X", dtype));
  ImportedTensor input = host_input(node, graph);
  require_last_axis(node, attributes.integer("axis", -1));
  input.tail.softmax = true;
  input.tail.softmax_levels = value_of(read_quantization(node, 3, "Y", dtype));
  graph.define(node, std::move(input));
}

void quantize_host(const NodeReader& node, GraphBuilder& graph, const Quantization& output) {
  ImportedTensor input = host_input(node, graph);
  if (!input.is_real || !input.tail.softmax || input.tail.softmax_levels) {
    node.refuse("rounds what is no Softmax", "a QuantizeLinear straight after Softmax");
  }
  input.tail.softmax_levels = value_of(output);
  input.is_real = false;
  graph.define(node, std::move(input));
}

void dequantize_host(const NodeReader& node, GraphBuilder& graph) {
  ImportedTensor input = host_input(node, graph);
  if (input.is_real || !input.tail.softmax_levels) {
    node.refuse("reads float32 numbers", "8-bit numbers");
  }
  const Value& levels = *input.tail.softmax_levels;
  if (!(value_of(read_quantization(node, 1, "x", levels.dtype)) == levels)) {
    node.refuse("reads the Softmax with another scale or zero_point", "its own");
  }
  input.is_real = true;
  graph.define(node, std::move(input));
}

void import_arg_max(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"axis", "keepdims", "select_last_index"});
  attributes.require_integer("select_last_index", 0);
  ImportedTensor input = host_input(node, graph);
  require_last_axis(node, attributes.integer("axis", 0));
  input.tail.arg_max = true;
  input.tail.arg_max_keeps_axis = attributes.integer("keepdims", 1) != 0;
  graph.define(node, std::move(input));
}

}  // namespace qsim::formats
