#include "formats/onnx/exporter/hybrid_layer_writer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "formats/onnx/exporter/layer_writer.h"
#include "formats/onnx/exporter/rounding_functions.h"

namespace qsim::formats {

HybridLayerWriter::HybridLayerWriter(const HybridNetwork& network, ModelWriter& model)
    : network_(network),
      model_(model),
      names_(network.graph.tensors.size()),
      is_vector_(network.graph.tensors.size(), false) {
  find_vectors();
}

// What linear layers read, through layers that keep the shape; what they and flattens write.
void HybridLayerWriter::find_vectors() {
  const Graph& graph = network_.graph;
  const auto keeps_axes = [](const Operation& operation) {
    return std::holds_alternative<Activation>(operation) ||
           std::holds_alternative<PRelu>(operation) || std::holds_alternative<Add>(operation) ||
           std::holds_alternative<Concat>(operation);
  };
  for (auto each = graph.layers.rbegin(); each != graph.layers.rend(); ++each) {
    const bool is_linear = std::holds_alternative<FullyConnected>(each->operation);
    if (!is_linear && !(keeps_axes(each->operation) && is_vector_[each->output])) continue;
    for (const TensorId id : each->inputs) is_vector_[id] = true;
  }
  for (const Layer& each : graph.layers) {
    const bool is_flat = std::holds_alternative<FullyConnected>(each.operation) ||
                         std::holds_alternative<Flatten>(each.operation);
    is_vector_[each.output] = is_flat || (keeps_axes(each.operation) && is_vector_[each.inputs[0]]);
  }
}

void HybridLayerWriter::define(TensorId id, const std::string& name) {
  names_[id] = name;
  if (network_.rules.empty() || !network_.rules[id]) return;
  names_[id] = add_rounding(*network_.rules[id], name, model_);
}

void HybridLayerWriter::write() {
  for (index_ = 0; index_ < network_.graph.layers.size(); ++index_) {
    visit_real(layer().operation, [&](const auto& operation) { write(operation); });
  }
}

void HybridLayerWriter::refuse(const std::string& found, const std::string& supported) const {
  throw_unsupported(layer_place(layer().name, layer().source) + ": " + found +
                    "; supported: " + supported);
}

onnx::NodeProto& HybridLayerWriter::add_layer(const char* op_type, const TensorNames& inputs) {
  onnx::NodeProto& node = model_.add_node(op_type, layer().name, inputs, layer().name);
  define(layer().output, layer().name);
  return node;
}

const RealLayerWeights* HybridLayerWriter::integers() const {
  const auto found = network_.weights.find(index_);
  return found == network_.weights.end() ? nullptr : &found->second;
}

void HybridLayerWriter::write(const Conv2d& conv) {
  const RealLayerWeights* own = integers();
  onnx::NodeProto* node = nullptr;
  if (own != nullptr && own->input) {
    node = &add_dynamic("ConvInteger", stored(conv.weights), conv.bias, true);
  } else {
    const std::string weights = add_weights(stored(conv.weights));
    const std::string bias = model_.add_constant(layer().name + "/bias", conv.bias);
    node = &add_layer("Conv", {operand(), weights, bias});
  }
  set_window(*node, conv.window);
  if (conv.groups != 1) set_int(*node, "group", conv.groups);
}

void HybridLayerWriter::write(const FullyConnected& linear) {
  const RealLayerWeights* own = integers();
  Stored weights = stored(linear.weights);
  if (own != nullptr && own->input) {
    turn(weights);
    add_dynamic("MatMulInteger", weights, linear.bias, false);
    return;
  }
  const std::string w = add_weights(weights);
  const std::string bias = model_.add_constant(layer().name + "/bias", linear.bias);
  set_int(add_layer("Gemm", {operand(), w, bias}), "transB", 1);
}

void HybridLayerWriter::write(const MaxPool& pool) {
  onnx::NodeProto& node = add_layer("MaxPool", {operand()});
  set_window(node, pool.window);
  set_ceil_mode(node, pool.window, input(), output());
}

void HybridLayerWriter::write(const AveragePool& pool) {
  onnx::NodeProto& node = add_layer("AveragePool", {operand()});
  set_window(node, pool.window);
  set_ceil_mode(node, pool.window, input(), output());
  set_int(node, "count_include_pad", pool.count_include_pad ? 1 : 0);
}

void HybridLayerWriter::write(const Add& /*add*/) { add_layer("Add", {operand(0), operand(1)}); }

void HybridLayerWriter::write(const Concat& /*concat*/) {
  TensorNames inputs;
  for (std::size_t i = 0; i < layer().inputs.size(); ++i) inputs.push_back(operand(i));
  set_int(add_layer("Concat", inputs), "axis", 1);
}

void HybridLayerWriter::write(const Activation& activation) {
  using Kind = Activation::Kind;
  TensorNames inputs = {operand()};
  if (activation.kind == Kind::kClip) {
    const auto bound = [&](const char* what, float value) {
      return std::isfinite(value) ? model_.add_float(layer().name + what, value) : std::string();
    };
    inputs.push_back(bound("/min", activation.lo));
    inputs.push_back(bound("/max", activation.hi));
  }
  onnx::NodeProto& node = add_layer(onnx_operator(activation.kind), inputs);
  set_slope(node, activation);
}

void HybridLayerWriter::write(const PRelu& prelu) {
  const bool is_vector = is_vector_[layer().inputs[0]];
  const std::string slopes =
      model_.add_constant(layer().name + "/slopes", onnx_slopes(prelu, is_vector));
  add_layer("PRelu", {operand(), slopes});
}

void HybridLayerWriter::write(const Flatten& flatten) {
  std::string read = operand();
  if (flatten.order == Flatten::Order::kHwc && !is_vector_[layer().inputs[0]]) {
    onnx::NodeProto& node = model_.add_node("Transpose", layer().name + "/nhwc", {read});
    set_ints(node, "perm", {0, 2, 3, 1});
    read = node.output(0);
  }
  set_int(add_layer("Flatten", {read}), "axis", 1);
}

}  // namespace qsim::formats
