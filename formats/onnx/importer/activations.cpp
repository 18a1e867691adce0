// Functions of one number: Relu, Clip, LeakyRelu, Sigmoid, HardSigmoid, HardSwish, and the QLinear
// forms of two of them; PRelu, which is one for each channel.
#include <algorithm>
#include <limits>

#include "formats/onnx/importer/clip_bounds.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/prelu_slopes.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

constexpr int kFirstOpsetWithInt8Relu = 14;

// The function of real numbers, each of which is a function of one level.
void apply_to_reals(const NodeReader& node, GraphBuilder& graph, const RealFunction& function) {
  const ImportedTensor& input = graph.tensor(node, 0);
  if (input.kind != Kind::kReals) graph.dequantized(node, 0);  // refuses it
  ImportedTensor result = graph.apply(input, function);
  result.node = node.node();
  graph.define(node, std::move(result));
}

// Relu and Clip of a layer that waits for its QuantizeLinear are clamps of that layer.
bool narrow_open_layer(const NodeReader& node, GraphBuilder& graph, float low, float high) {
  const ImportedTensor& input = graph.tensor(node, 0);
  if (input.kind != Kind::kOpen) return false;
  if (std::holds_alternative<PRelu>(input.open->operation)) return false;  // it has no clamp
  if (node.model().reads_of(node.input(0)) > 1) {
    node.refuse("reads float32 numbers that another node reads too",
                "a QuantizeLinear and a DequantizeLinear between the two");
  }
  OpenLayer& layer = *input.open;
  layer.low = std::min(std::max(layer.low, low), high);
  layer.high = std::min(std::max(layer.high, low), high);
  graph.define(node, input);
  return true;
}

// ONNX's Relu of int8: the stored number is cut off at 0, which is ReLU of the real number for
// zero_point 0 only.
void import_relu_of_levels(const NodeReader& node, GraphBuilder& graph) {
  const ImportedTensor input = graph.levels(node, 0);
  const Value& value = graph.value(input);
  if (value.dtype != DType::kInt8 || node.opset() < kFirstOpsetWithInt8Relu) {
    node.malformed(
        std::string(dtype_name(value.dtype)) + " in opset " + std::to_string(node.opset()),
        "int8, opset " + std::to_string(kFirstOpsetWithInt8Relu) + " or later");
  }
  if (value.zero_point != 0) {
    node.refuse("reads a tensor of zero_point " + std::to_string(value.zero_point), "zero_point 0");
  }
  graph.define_moved(node, input, Relu{}, value.shape, input.axes);
}

// Clip of the integers themselves: levels of fewer bits than their type has.
void clip_levels(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 3);
  const NodeAttributes attributes(node, {});
  const ImportedTensor input = graph.levels(node, 0);
  const Value& value = graph.value(input);
  const Quantization own = graph.quantization(input);
  const auto bound = [&](int index, const char* name, std::int32_t none) {
    std::int32_t level = none;
    if (node.has_input(index)) {
      const Tensor tensor = node.constant(index, name);
      if (tensor.dtype != value.dtype || tensor.elems() != 1) {
        node.refuse(std::string(name) + " is " + std::string(dtype_name(tensor.dtype)) + " " +
                        shape_text(tensor.shape),
                    "one number of " + std::string(dtype_name(value.dtype)));
      }
      level = level_at(tensor, 0);
    }
    return static_cast<float>(level - own.zero_point) * own.scale.real();
  };
  const float low = bound(1, "min", value.min());
  const float high = bound(2, "max", value.max());
  const ImportedTensor reals = graph.apply(input, [=](float x) { return clip(x, low, high); });
  graph.define(node, graph.quantized_levels(node, node.layer_name(), "clip", reals, own));
}

// QLinearLeakyRelu, QLinearSigmoid: X, its scale and zero_point, and Y's.
void import_qlinear(const NodeReader& node, GraphBuilder& graph, const std::string& name,
                    const RealFunction& function) {
  node.require_inputs(4, 5);
  const DType dtype = graph.value(graph.levels(node, 0)).dtype;
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "X", dtype));
  const Quantization output = read_quantization(node, 3, "Y", dtype);
  graph.define(node, graph.quantized_levels(node, node.layer_name(), name,
                                            graph.apply(input, function), output));
}

}  // namespace

void import_relu(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  if (narrow_open_layer(node, graph, 0.0F, std::numeric_limits<float>::infinity())) return;
  if (graph.tensor(node, 0).kind == Kind::kReals) return apply_to_reals(node, graph, relu);
  import_relu_of_levels(node, graph);
}

void import_clip(const NodeReader& node, GraphBuilder& graph) {
  if (graph.tensor(node, 0).kind == Kind::kLevels) return clip_levels(node, graph);
  const auto [low, high] = read_clip(node);
  if (narrow_open_layer(node, graph, low, high)) return;
  apply_to_reals(node, graph, [lo = low, hi = high](float x) { return clip(x, lo, hi); });
}

void import_leaky_relu(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const float alpha = NodeAttributes(node, {"alpha"}).real("alpha", 0.01F);
  apply_to_reals(node, graph, [=](float x) { return leaky_relu(x, alpha); });
}

void import_p_relu(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  const ImportedTensor* found = graph.find(node, 1);
  const bool is_dequantized = found != nullptr && found->kind == Kind::kConstant;
  if (is_dequantized && found->transposed) {
    node.refuse("slope is transposed", "a constant, or a DequantizeLinear of one");
  }
  const Tensor slope = is_dequantized ? dequantized_constant(NodeReader(node.model(), found->node))
                                      : node.constant(1, "slope");
  const ImportedTensor& input = graph.tensor(node, 0);
  if (input.kind != Kind::kReals) graph.dequantized(node, 0);  // refuses it
  const ImageShape shape = graph.shape(input);
  Tensor slopes = prelu_slopes(node, slope, input.axes, shape.channels);
  if (slopes.elems() == 1) {
    const float alpha = slopes.as<float>()[0];
    return apply_to_reals(node, graph, [=](float x) { return leaky_relu(x, alpha); });
  }
  const ImportedTensor levels = graph.dequantized(node, 0);
  graph.define_open(node, std::make_shared<OpenLayer>(OpenLayer{
                              node.node(), PRelu{std::move(slopes)}, {levels}, shape, input.axes}));
}

void import_sigmoid(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  apply_to_reals(node, graph, sigmoid);
}

void import_hard_sigmoid(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"alpha", "beta"});
  const float alpha = attributes.real("alpha", 0.2F);
  const float beta = attributes.real("beta", 0.5F);
  apply_to_reals(node, graph, [=](float x) { return hard_sigmoid(x, alpha, beta); });
}

void import_hard_swish(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  apply_to_reals(node, graph, hard_swish);
}

// Input 1 has the number for each byte of the levels.
void import_levels_function(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(2, 2);
  const Tensor values = node.constant(1, "values");
  const ImportedTensor& input = graph.tensor(node, 0);
  if (input.kind != Kind::kReals || input.function) graph.dequantized(node, 0);  // refuses it
  ByteFunction function{};
  if (values.dtype != DType::kFloat32 || values.shape != Shape{std::ssize(function)}) {
    node.malformed("values of shape " + shape_text(values.shape), "256 of float32");
  }
  std::ranges::copy(values.as<float>(), function.begin());
  ImportedTensor result = input;
  result.node = node.node();
  result.function = std::make_shared<const ByteFunction>(function);
  graph.define(node, std::move(result));
}

void import_qlinear_leaky_relu(const NodeReader& node, GraphBuilder& graph) {
  const float alpha = NodeAttributes(node, {"alpha"}).real("alpha", 0.01F);
  import_qlinear(node, graph, "leaky_relu", [=](float x) { return leaky_relu(x, alpha); });
}

void import_qlinear_sigmoid(const NodeReader& node, GraphBuilder& graph) {
  const NodeAttributes attributes(node, {});
  import_qlinear(node, graph, "sigmoid", sigmoid);
}

}  // namespace qsim::formats
