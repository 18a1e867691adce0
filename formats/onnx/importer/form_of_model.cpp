#include "formats/onnx/importer/form_of_model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {
namespace {

constexpr std::array<std::string_view, 6> kIntegerSums = {
    "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM",
    "MatMulInteger",         "MatMulIntegerToFloat",  "ConvInteger"};

constexpr std::string_view kRounding = "qsim";

constexpr const char* kSupported = "those of docs/reference/onnx.md";

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
         op_type.starts_with("QLinear") || node.proto->domain() == kRounding;
}

bool sums_integers(const ModelNode& node) { return is_one_of(node, kIntegerSums); }

bool finds_ranges(const ModelNode& node) {
  return node.proto->op_type().starts_with("DynamicQuantize");
}

bool is_rounding(const ModelNode& node) { return node.proto->domain() == kRounding; }

// Quantizes by an operator of another tool: Quant, RequantShift, FakeQuantize, MatMulNBits have
// "quant" in their name, and others "NBits".
bool quantizes_otherwise(const ModelNode& node) {
  if (is_quantized(node) || sums_integers(node)) return false;
  std::string name = node.proto->op_type();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("quant") != std::string::npos || name.find("nbits") != std::string::npos;
}

bool is_of_another_tool(const ModelNode& node) {
  const std::string& domain = node.proto->domain();
  return quantizes_otherwise(node) ||
         (!domain.empty() && domain != "ai.onnx" && domain != kRounding);
}

const ModelNode* find(const std::vector<ModelNode>& nodes, bool (*is)(const ModelNode&)) {
  const auto found = std::ranges::find_if(nodes, is);
  return found == nodes.end() ? nullptr : &*found;
}

bool dequantizes_constant(const ModelGraph& model, const ModelNode& node) {
  return node.proto->op_type() == "DequantizeLinear" && node.proto->input_size() > 0 &&
         model.constant(node.proto->input(0)) != nullptr;
}

// A DequantizeLinear of weights, where nothing else is quantized.
const ModelNode* first_weight(const ModelGraph& model, const std::vector<ModelNode>& nodes) {
  const ModelNode* first = nullptr;
  for (const ModelNode& node : nodes) {
    if (!is_quantized(node)) continue;
    if (!dequantizes_constant(model, node)) return nullptr;
    if (first == nullptr) first = &node;
  }
  return first;
}

constexpr const char* kRunByGolden =
    "; run it by `qsim golden run`, or quantize the float model that it was made of: `qsim "
    "quantize`";

// No model of such an operator is a float model that qsim could quantize.
void refuse_other_tools(const ModelGraph& model, const std::vector<ModelNode>& nodes) {
  const ModelNode* node = find(nodes, is_of_another_tool);
  if (node == nullptr) return;
  const std::string& domain = node->proto->domain();
  const std::string name =
      echoed(domain) + (domain.empty() ? "" : " ") + echoed(node->proto->op_type());
  const NodeReader reader(model, *node);
  if (!quantizes_otherwise(*node)) reader.refuse("operator " + name, kSupported);
  reader.refuse("operator " + name + " is quantization of another tool",
                "QuantizeLinear, DequantizeLinear and " + std::string(kSupported) +
                    "; export the network with these");
}

// Nobody is sent to a command that refuses the file: `qsim quantize` takes it as a Graph or node by
// node.
std::string way_to_quantize(const ModelGraph& model, const std::function<void()>& require_float) {
  try {
    require_float();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    try {
      static_cast<void>(import_host_network(*model.file));
    } catch (const Error& again) {
      std::string reason = again.what();
      if (reason.starts_with(model.source + ": ")) reason.erase(0, model.source.size() + 2);
      return ", by ONNX Runtime's quantize_static; `qsim quantize` does not take it: " + reason;
    }
  }
  return ": `qsim quantize MODEL --calibrate DIR -o out.onnx`";
}

}  // namespace

void require_quantized_form(const ModelGraph& model, const std::vector<ModelNode>& nodes,
                            RunBy run_by, const std::function<void()>& require_float) {
  const bool has_host = run_by == RunBy::kArrayAndHost;
  const ModelNode* integers = find(nodes, sums_integers);
  if (integers != nullptr && has_host) return;
  if (integers != nullptr && find(nodes, finds_ranges) == nullptr) {
    throw_unsupported(node_location(model, *integers) +
                      ": sums of integers that become float32 numbers: the accelerator computes no "
                      "float32; run it by `qsim golden run`, or export a QuantizedSequential");
  }
  if (const ModelNode* node = integers) {
    throw_unsupported(node_location(model, *node) +
                      ": dynamic quantization: the accelerator finds no ranges while it runs" +
                      kRunByGolden);
  }
  if (const ModelNode* node = find(nodes, is_rounding)) {
    throw_unsupported(node_location(model, *node) +
                      ": fake quantization: the accelerator computes no float32" + kRunByGolden);
  }
  const ModelNode* const weight = has_host ? nullptr : first_weight(model, nodes);
  if (const ModelNode* node = weight) {
    throw_unsupported(node_location(model, *node) +
                      ": weight-only quantization: the accelerator computes no float32" +
                      kRunByGolden);
  }
  if (std::ranges::any_of(nodes, is_quantized)) return;
  const auto layers =
      std::ranges::count_if(nodes, [](const ModelNode& node) { return is_one_of(node, kFloat); });
  if (layers == 0) return;
  refuse_other_tools(model, nodes);
  throw_unsupported(model.source + ": a float model: none of its " + std::to_string(layers) +
                    " layers with weights is quantized; quantize it first" +
                    way_to_quantize(model, require_float));
}

const ModelNode* first_hybrid(const ModelGraph& model, const std::vector<ModelNode>& nodes) {
  if (const ModelNode* node = find(nodes, sums_integers)) return node;
  if (const ModelNode* node = find(nodes, is_rounding)) return node;
  return first_weight(model, nodes);
}

const ModelNode* first_quantized(const std::vector<ModelNode>& nodes) {
  const auto found = std::ranges::find_if(nodes, [](const ModelNode& node) {
    return is_quantized(node) || sums_integers(node) || quantizes_otherwise(node);
  });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace qsim::formats
