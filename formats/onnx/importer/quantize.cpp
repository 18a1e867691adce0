// QuantizeLinear and DequantizeLinear. They compute nothing where they only say what a tensor is;
// from one scale to another, or after an activation, they are a table.
#include "core/base/printable.h"
#include "formats/onnx/importer/operators.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

// "HardSwish" to "hard_swish", "PRelu" to "prelu".
std::string function_name(const std::string& op_type) {
  std::string name;
  for (const char c : op_type) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper && name.size() > 1) name += '_';
    name += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

// A table is called after the activation that it computes; a second one, of another QuantizeLinear
// that reads it, after both.
ImportedTensor rounded(const NodeReader& node, GraphBuilder& graph, const ImportedTensor& reals,
                       const Quantization& output) {
  if (!reals.function) {
    return graph.quantized_levels(node, node.layer_name(), "requantize", reals, output);
  }
  const NodeReader activation(node.model(), reals.node);
  if (const ImportedTensor* same = graph.rounded_before(reals, output)) return *same;
  std::string name = activation.layer_name();
  if (graph.has_rounded(reals.node)) name += "/" + node.layer_name();
  ImportedTensor levels =
      graph.quantized_levels(activation, name, function_name(activation.op_type()), reals, output);
  graph.keep_rounded(reals, output, levels);
  return levels;
}

}  // namespace

void import_quantize_linear(const NodeReader& node, GraphBuilder& graph) {
  if (graph.find(node, 0) == nullptr && node.is_constant(0)) {
    node.refuse("quantizes the constant '" + echoed(node.input(0)) + "'",
                "weights and biases that are integers in the file, before a DequantizeLinear");
  }
  const Quantization output = read_quantize_linear(node);
  const ImportedTensor input = graph.tensor(node, 0);
  switch (input.kind) {
    case Kind::kReal:
      return graph.define(node, graph.quantize_input(node, input, output));
    case Kind::kReals:
      return graph.define(node, rounded(node, graph, input, output));
    case Kind::kOpen:
      return graph.define(node, graph.close(node, *input.open, output));
    case Kind::kHost:
      return quantize_host(node, graph, output);
    default:
      graph.dequantized(node, 0);  // refuses it
  }
}

void import_dequantize_linear(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes(node, {"axis", "block_size"});
  attributes.integer("axis", 1);
  attributes.require_integer("block_size", 0);
  if (graph.find(node, 0) == nullptr && node.is_constant(0)) {
    ImportedTensor constant{Kind::kConstant};
    constant.node = node.node();
    return graph.define(node, std::move(constant));
  }
  const ImportedTensor* found = graph.find(node, 0);
  if (found != nullptr && found->kind == Kind::kHost) return dequantize_host(node, graph);
  ImportedTensor reals = graph.levels(node, 0);
  graph.agree(node, reals, read_quantization(node, 1, "x", graph.value(reals).dtype));
  reals.kind = Kind::kReals;
  graph.define(node, std::move(reals));
}

}  // namespace qsim::formats
