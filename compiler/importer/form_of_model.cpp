#include "compiler/importer/form_of_model.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace qsim {
namespace {

constexpr std::array<std::string_view, 6> kDynamic = {
    "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM",
    "MatMulInteger",         "MatMulIntegerToFloat",  "ConvInteger"};

// Operators of layers, in float32.
constexpr std::array<std::string_view, 5> kFloat = {"Conv", "ConvTranspose", "Gemm", "MatMul",
                                                    "BatchNormalization"};

template <std::size_t size>
bool is_one_of(const ModelNode& node, const std::array<std::string_view, size>& names) {
  return std::ranges::find(names, node.proto->op_type()) != names.end();
}

bool is_quantized(const ModelNode& node) {
  const std::string& op_type = node.proto->op_type();
  return op_type == "QuantizeLinear" || op_type == "DequantizeLinear" || op_type == "QGemm" ||
         op_type.starts_with("QLinear");
}

}  // namespace

void require_quantized_form(const ModelGraph& model, const std::vector<ModelNode>& nodes) {
  const auto dynamic =
      std::ranges::find_if(nodes, [](const ModelNode& node) { return is_one_of(node, kDynamic); });
  if (dynamic != nodes.end()) {
    throw_unsupported(node_location(model, *dynamic) + ": dynamic quantization, whose scales are " +
                      "known only while it runs; supported: static quantization, for example by " +
                      "ONNX Runtime's quantize_static");
  }
  if (std::ranges::any_of(nodes, is_quantized)) return;
  const auto layers =
      std::ranges::count_if(nodes, [](const ModelNode& node) { return is_one_of(node, kFloat); });
  if (layers == 0) return;
  throw_unsupported(model.source + ": a float model: none of its " + std::to_string(layers) +
                    " layers with weights is quantized; quantize it first: `qsim quantize MODEL " +
                    "--calibrate DIR -o out.onnx`");
}

const ModelNode* first_quantized(const std::vector<ModelNode>& nodes) {
  const auto found = std::ranges::find_if(
      nodes, [](const ModelNode& node) { return is_quantized(node) || is_one_of(node, kDynamic); });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace qsim
