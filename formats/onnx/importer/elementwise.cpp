// Operators of several tensors: Add, Mul and Concat, and their QLinear forms.
#include <algorithm>
#include <cmath>

#include "core/base/checked_math.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/product_table.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

std::string operand_text(const GraphBuilder& graph, const ImportedTensor& tensor) {
  return shape_with_axes(graph.shape(tensor), tensor.axes);
}

void require_equal_shapes(const GraphBuilder& graph, const NodeReader& node,
                          const ImportedTensor& a, const ImportedTensor& b) {
  if (a.axes == b.axes && graph.shape(a) == graph.shape(b)) return;
  node.refuse("reads tensors " + operand_text(graph, a) + " and " + operand_text(graph, b),
              "two tensors of equal shape");
}

OpenLayer open_addition(const GraphBuilder& graph, const NodeReader& node, ImportedTensor a,
                        ImportedTensor b) {
  require_equal_shapes(graph, node, a, b);
  // ONNX Runtime takes the second tensor first where it has one element: there is no dimension to
  // say that it is not repeated.
  if (element_count(graph.shape(a).nhwc()) == 1) std::swap(a, b);
  const ImageShape shape = graph.shape(a);
  const Axes axes = a.axes;
  return {node.node(), Add{}, {std::move(a), std::move(b)}, shape, axes};
}

// The number of a constant input; nothing where the input is absent or computed. Refuses a constant
// that is not one float32 number.
std::optional<float> constant_number(const GraphBuilder& graph, const NodeReader& node, int index) {
  const ImportedTensor* found = graph.find(node, index);
  if (found != nullptr || !node.has_input(index)) return std::nullopt;
  const Tensor constant = node.constant(index, "operand");
  if (constant.dtype != DType::kFloat32 || constant.elems() != 1) {
    node.refuse("operand '" + echoed(node.input(index)) + "' is a constant " +
                    std::string(dtype_name(constant.dtype)) + " " + shape_text(constant.shape),
                "one float32 number, or a tensor that the graph computes");
  }
  return constant.as<float>()[0];
}

const ImportedTensor& real_operand(const GraphBuilder& graph, const NodeReader& node, int index) {
  const ImportedTensor& tensor = graph.tensor(node, index);
  if (tensor.kind != Kind::kReals) graph.dequantized(node, index);  // refuses it
  return tensor;
}

// Add and Mul of a tensor and one number. False where both are tensors.
bool import_with_number(const NodeReader& node, GraphBuilder& graph,
                        float (*combine)(float, float)) {
  for (const int index : {0, 1}) {
    const auto number = constant_number(graph, node, 1 - index);
    if (!number) continue;
    ImportedTensor result =
        graph.apply(real_operand(graph, node, index), [&](float x) { return combine(x, *number); });
    result.node = node.node();
    graph.define(node, std::move(result));
    return true;
  }
  return false;
}

// `inputs` are real numbers.
OpenLayer open_concat(const GraphBuilder& graph, const NodeReader& node,
                      std::vector<ImportedTensor> inputs, std::int64_t axis) {
  const Axes axes = inputs[0].axes;
  ImageShape joined = graph.shape(inputs[0]);
  if ((axis < 0 ? axis + rank_of(axes) : axis) != channel_axis(axes)) {
    node.refuse("axis = " + std::to_string(axis) + " of " + axes_name(axes), "the channels' axis");
  }
  joined.channels = 0;
  for (const ImportedTensor& input : inputs) {
    ImageShape shape = graph.shape(input);
    joined.channels = checked_add(joined.channels, shape.channels);
    shape.channels = graph.shape(inputs[0]).channels;
    if (input.axes == axes && shape == graph.shape(inputs[0])) continue;
    node.malformed(
        "reads tensors " + operand_text(graph, inputs[0]) + " and " + operand_text(graph, input),
        "tensors that differ in channels alone");
  }
  return {node.node(), Concat{}, std::move(inputs), joined, axes};
}

std::int64_t concat_axis(const NodeReader& node) {
  const NodeAttributes attributes(node, {"axis"});
  return attributes.integer("axis", 1);
}

}  // namespace

void import_qlinear_add(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(7, 8);
  const NodeAttributes attributes(node, {});
  const DType dtype = graph.value(graph.levels(node, 0)).dtype;
  const ImportedTensor a = graph.levels(node, 0, read_quantization(node, 1, "A", dtype));
  const ImportedTensor b = graph.levels(node, 3, read_quantization(node, 4, "B", dtype));
  OpenLayer layer = open_addition(graph, node, a, b);
  graph.define(node, graph.close(node, layer, read_quantization(node, 6, "C", dtype)));
}

void import_add(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  if (import_with_number(node, graph, [](float x, float y) { return x + y; })) return;
  graph.define_open(
      node, std::make_shared<OpenLayer>(open_addition(graph, node, graph.dequantized(node, 0),
                                                      graph.dequantized(node, 1))));
}

void import_qlinear_mul(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(7, 8);
  const NodeAttributes attributes(node, {});
  const DType dtype = graph.value(graph.levels(node, 0)).dtype;
  const ImportedTensor a = graph.levels(node, 0, read_quantization(node, 1, "A", dtype));
  const ImportedTensor b = graph.levels(node, 3, read_quantization(node, 4, "B", dtype));
  OpenLayer layer = open_product(graph, node, a, b);
  graph.define(node, graph.close(node, layer, read_quantization(node, 6, "C", dtype)));
}

void import_mul(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  if (import_with_number(node, graph, [](float x, float y) { return x * y; })) return;
  const ImportedTensor& a = real_operand(graph, node, 0);
  const ImportedTensor& b = real_operand(graph, node, 1);
  if (!a.function && !b.function) {
    graph.define_open(
        node, std::make_shared<OpenLayer>(open_product(graph, node, graph.dequantized(node, 0),
                                                       graph.dequantized(node, 1))));
    return;
  }
  ImportedTensor result = product_of_reals(graph, node, a, b);
  result.node = node.node();
  graph.define(node, std::move(result));
}

void import_qlinear_concat(const NodeReader& node, GraphBuilder& graph) {
  if (node.inputs() < 5 || node.inputs() % 3 != 2) {
    node.malformed(std::to_string(node.inputs()) + " inputs", "2 and 3 for each tensor");
  }
  std::vector<ImportedTensor> inputs;
  for (int index = 2; index < node.inputs(); index += 3) {
    const Quantization quantization = read_quantization(node, index + 1, "x");
    inputs.push_back(graph.levels(node, index, quantization));
    inputs.back().kind = Kind::kReals;
  }
  OpenLayer layer = open_concat(graph, node, std::move(inputs), concat_axis(node));
  graph.define(node, graph.close(node, layer, read_quantization(node, 0, "y")));
}

void import_concat(const NodeReader& node, GraphBuilder& graph) {
  if (node.inputs() == 0) node.malformed("0 inputs", "1 or more");
  std::vector<ImportedTensor> inputs;
  for (int index = 0; index < node.inputs(); ++index) {
    inputs.push_back(real_operand(graph, node, index));
  }
  graph.define_open(node, std::make_shared<OpenLayer>(
                              open_concat(graph, node, std::move(inputs), concat_axis(node))));
}

}  // namespace qsim::formats
