#include "formats/onnx/importer/hosted_fusion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace qsim::formats {
namespace {

// In which order an operator on levels has its inputs.
enum class InputOrder : std::uint8_t {
  kTriples,       // x, scale and zero_point of each operand; then those of the output
  kOutputFirst,   // those of the output first
  kBiasLast,      // as kTriples; an int32 bias at the end
  kBiasInMiddle,  // as kTriples; the bias before those of the output
};

struct LevelsForm {
  std::string_view op;
  std::string_view form;
  std::string_view domain;
  std::size_t operands;  // that come from DequantizeLinear; 0: all
  InputOrder inputs = InputOrder::kTriples;
};

constexpr std::string_view kMicrosoftForms = "com.microsoft";
constexpr std::array<LevelsForm, 12> kForms = {{
    {"Conv", "QLinearConv", "", 2, InputOrder::kBiasLast},
    {"MatMul", "QLinearMatMul", "", 2},
    {"Gemm", "QGemm", kMicrosoftForms, 2, InputOrder::kBiasInMiddle},
    {"Add", "QLinearAdd", kMicrosoftForms, 2},
    {"Mul", "QLinearMul", kMicrosoftForms, 2},
    {"Concat", "QLinearConcat", kMicrosoftForms, 0, InputOrder::kOutputFirst},
    {"AveragePool", "QLinearAveragePool", kMicrosoftForms, 1},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", kMicrosoftForms, 1},
    {"LeakyRelu", "QLinearLeakyRelu", kMicrosoftForms, 1},
    {"Sigmoid", "QLinearSigmoid", kMicrosoftForms, 1},
    {"Softmax", "QLinearSoftmax", kMicrosoftForms, 1},
    {"Where", "QLinearWhere", kMicrosoftForms, 0},
}};

class Fusion {
 public:
  Fusion(const HostNetwork& network, const std::set<int>& float_nodes)
      : network_(network),
        float_nodes_(float_nodes),
        makers_(network.values.size(), nullptr),
        readers_(network.values.size()) {
    for (const HostNode& node : network.nodes) {
      for (const HostValueId id : node.outputs) {
        if (id != kAbsentValue) makers_[id] = &node;
      }
      for (const HostValueId id : node.inputs) {
        if (id != kAbsentValue) readers_[id].push_back(&node);
      }
    }
    for (const HostValueId id : network.outputs) readers_[id].push_back(nullptr);
  }

  bool has_other_bias(const HostNode& node) const {
    const bool has_bias =
        node.domain.empty() && (node.op == "Conv" || node.op == "Gemm") && node.inputs.size() == 3;
    const HostNode* const from = has_bias ? dequantize(node.inputs[2]) : nullptr;
    if (from == nullptr) return false;
    if (network_.values[from->inputs[0]].array.tensor.dtype != DType::kInt32) return true;
    const HostNode* const x = dequantize(node.inputs[0]);
    const HostNode* const w = dequantize(node.inputs[1]);
    if (x == nullptr || w == nullptr || scales(*x).size() != 1 || scales(*w).empty()) return false;
    return !are_products(scales(*from), scales(*x)[0], scales(*w));
  }

  // The operators on levels, by the nodes in whose place they come.
  std::vector<std::pair<std::size_t, HostNode>> fused_nodes() const {
    std::vector<std::pair<std::size_t, HostNode>> fused;
    for (std::size_t n = 0; n < network_.nodes.size(); ++n) {
      if (auto node = fused_at(network_.nodes[n])) fused.emplace_back(n, std::move(*node));
    }
    return fused;
  }

 private:
  const HostNode* maker(HostValueId id) const { return id == kAbsentValue ? nullptr : makers_[id]; }

  // The DequantizeLinear of one scale that makes a value.
  const HostNode* dequantize(HostValueId id) const {
    const HostNode* node = maker(id);
    const bool is_one = node != nullptr && node->op == "DequantizeLinear" &&
                        node->inputs.size() >= 2 && node->inputs[0] != kAbsentValue &&
                        node->inputs[1] != kAbsentValue && !node->attributes.contains("block_size");
    return is_one ? node : nullptr;
  }

  static HostValueId input(const HostNode& node, std::size_t index) {
    return index < node.inputs.size() ? node.inputs[index] : kAbsentValue;
  }

  std::optional<HostNode> fused_at(const HostNode& quantize) const {
    if (quantize.op != "QuantizeLinear" || quantize.inputs.size() != 3 ||
        std::ranges::find(quantize.inputs, kAbsentValue) != quantize.inputs.end()) {
      return std::nullopt;
    }
    const HostNode* node = maker(quantize.inputs[0]);
    // float_nodes() has found those whose Relu or Clip does more than the levels' own range.
    while (node != nullptr && (node->op == "Relu" || node->op == "Clip")) {
      node = maker(input(*node, 0));
    }
    if (node == nullptr || float_nodes_.contains(node->index)) return std::nullopt;
    const auto* const form = std::ranges::find_if(kForms, [&](const LevelsForm& known) {
      return known.op == node->op && node->domain.empty();
    });
    if (form == kForms.end()) return std::nullopt;
    return fused(*form, *node, quantize);
  }

  // Whether the scales of weights are one, or one an output channel, and a bias has x_scale *
  // w_scale.
  bool fits(const LevelsForm& form, const HostNode& node) const {
    if (form.operands < 2) return true;
    const HostNode& activations = *dequantize(node.inputs[0]);
    const HostNode& weights = *dequantize(node.inputs[1]);
    const std::vector<float> x_scales = scales(activations);
    const std::vector<float> w_scales = scales(weights);
    if (x_scales.size() != 1 || w_scales.empty()) return false;
    if (w_scales.size() > 1 && axis_of(weights) != channel_axis(form, node)) return false;
    const HostValueId bias = input(node, 2);
    if (form.op == "Gemm" && !(is_one(node, "alpha") && is_one(node, "beta"))) return false;
    if (form.inputs == InputOrder::kTriples || bias == kAbsentValue) return true;
    return dequantize(bias) != nullptr &&
           are_products(scales(*dequantize(bias)), x_scales[0], w_scales);
  }

  static bool are_products(const std::vector<float>& b_scales, float x_scale,
                           const std::vector<float>& w_scales) {
    for (std::size_t c = 0; c < b_scales.size(); ++c) {
      const float expected = x_scale * w_scales[c < w_scales.size() ? c : 0];
      if (!(std::abs(b_scales[c] - expected) <= 1e-5F * expected)) return false;
    }
    return b_scales.size() == 1 ? w_scales.size() == 1 : w_scales.size() == b_scales.size();
  }

  // Whether ONNX Runtime makes uint8 of all levels around a node, which are int8: it rounds sums of
  // a zero_point 128 larger.
  bool becomes_unsigned(const HostNode& node, const HostNode& quantize) const {
    if (!is_free(quantize.outputs[0])) return false;
    return std::ranges::all_of(node.inputs, [&](HostValueId id) {
      const HostNode* const from = dequantize(id);
      return from != nullptr && is_free(from->inputs[0]);
    });
  }

  // Whether the levels are int8, one QuantizeLinear writes them for one DequantizeLinear, and one
  // node reads that.
  bool is_free(HostValueId levels) const {
    const HostNode* const writer = maker(levels);
    if (network_.values[levels].array.tensor.dtype != DType::kInt8 || writer == nullptr ||
        writer->op != "QuantizeLinear" || readers_[levels].size() != 1) {
      return false;
    }
    const HostNode* const reader = readers_[levels][0];
    return reader != nullptr && reader->op == "DequantizeLinear" &&
           readers_[reader->outputs[0]].size() == 1;
  }

  static bool is_one(const HostNode& node, std::string_view factor) {
    const auto found = node.attributes.find(factor);
    return found == node.attributes.end() || found->second == HostAttribute(1.0F);
  }

  // Of a DequantizeLinear; none where they are computed.
  std::vector<float> scales(const HostNode& node) const {
    const HostArray& array = network_.values[node.inputs[1]].array;
    if (!array.has_values() || array.tensor.dtype != DType::kFloat32) return {};
    const std::span<const float> values = array.tensor.as<float>();
    return {values.begin(), values.end()};
  }

  std::int64_t axis_of(const HostNode& dequantize) const {
    const auto found = dequantize.attributes.find("axis");
    const std::int64_t axis =
        found == dequantize.attributes.end() || !std::holds_alternative<std::int64_t>(found->second)
            ? 1
            : std::get<std::int64_t>(found->second);
    return axis < 0 ? axis + rank_of(dequantize) : axis;
  }

  std::int64_t rank_of(const HostNode& dequantize) const {
    return std::ssize(network_.values[dequantize.inputs[0]].array.tensor.shape);
  }

  std::int64_t channel_axis(const LevelsForm& form, const HostNode& node) const {
    if (form.op == "Conv") return 0;
    const auto turned = node.attributes.find("transB");
    const bool is_turned = form.op == "Gemm" && turned != node.attributes.end() &&
                           turned->second == HostAttribute(std::int64_t{1});
    return is_turned ? 0 : rank_of(*dequantize(node.inputs[1])) - 1;
  }

  std::optional<HostNode> fused(const LevelsForm& form, const HostNode& node,
                                const HostNode& quantize) const {
    std::vector<HostValueId> operands;
    const std::size_t count = form.operands == 0 ? node.inputs.size() : form.operands;
    for (std::size_t i = 0; i < count; ++i) {
      if (form.op == "Where" && i == 0) {  // the condition
        operands.push_back(node.inputs[0]);
        continue;
      }
      const HostNode* from = dequantize(input(node, i));
      if (from == nullptr) return std::nullopt;
      for (std::size_t k = 0; k < 3; ++k) operands.push_back(input(*from, k));
    }
    const std::vector<HostValueId> output = {quantize.inputs[1], quantize.inputs[2]};
    HostNode made = node;
    made.op = form.form;
    made.domain = form.domain;
    if (!form.domain.empty()) made.opset = 1;
    made.outputs = quantize.outputs;
    if ((form.op == "Add" || form.op == "AveragePool") && becomes_unsigned(node, quantize)) {
      made.attributes[kLevelsOffset] = std::int64_t{128};
    }
    if (form.op == "Softmax") made.attributes["opset"] = std::int64_t{node.opset};
    made.inputs = std::move(operands);
    if (form.inputs == InputOrder::kOutputFirst) {
      made.inputs.insert(made.inputs.begin(), output.begin(), output.end());
      return made;
    }
    if (form.op != "Where" && form.op != "Concat" && !fits(form, node)) return std::nullopt;
    const HostValueId bias = input(node, 2);
    const bool takes_bias =
        form.inputs == InputOrder::kBiasLast || form.inputs == InputOrder::kBiasInMiddle;
    HostValueId levels = kAbsentValue;
    if (takes_bias && bias != kAbsentValue) {
      const HostNode* from = dequantize(bias);
      if (from == nullptr) return std::nullopt;
      levels = from->inputs[0];
      if (network_.values[levels].array.tensor.dtype != DType::kInt32) return std::nullopt;
    }
    if (form.inputs == InputOrder::kBiasInMiddle) made.inputs.push_back(levels);
    made.inputs.insert(made.inputs.end(), output.begin(), output.end());
    if (form.inputs == InputOrder::kBiasLast && levels != kAbsentValue)
      made.inputs.push_back(levels);
    return made;
  }

  const HostNetwork& network_;
  const std::set<int>& float_nodes_;
  std::vector<const HostNode*> makers_;
  std::vector<std::vector<const HostNode*>> readers_;  // null: it is an output
};

}  // namespace

void fuse_host_groups(HostNetwork& network, const std::set<int>& float_nodes) {
  for (auto& [n, node] : Fusion(network, float_nodes).fused_nodes()) {
    network.nodes[n] = std::move(node);
  }
}

std::set<std::size_t> nodes_with_other_bias(const HostNetwork& network) {
  const std::set<int> none;
  const Fusion fusion(network, none);
  std::set<std::size_t> found;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    if (fusion.has_other_bias(network.nodes[n])) found.insert(n);
  }
  return found;
}

}  // namespace qsim::formats
