#include "formats/onnx/importer/session_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/part_rewrites.h"

namespace qsim::formats {
namespace {

// The scale and zero_point of the range of `weights` and 0, and their levels.
struct LevelsOfWeights {
  float scale = 1.0F;
  std::int8_t zero_point = 0;
  std::vector<std::int8_t> levels;
};

LevelsOfWeights levels_of(std::span<const float> weights) {
  constexpr float kLeast = std::numeric_limits<std::int8_t>::min();
  constexpr float kMost = std::numeric_limits<std::int8_t>::max();
  float least = 0;
  float most = 0;
  for (const float weight : weights) {
    least = std::min(least, weight);
    most = std::max(most, weight);
  }
  LevelsOfWeights found;
  if (most > least) found.scale = (most - least) / (kMost - kLeast);
  const auto level = [&](float value) {
    return static_cast<std::int8_t>(std::nearbyint(std::clamp(value, kLeast, kMost)));
  };
  found.zero_point = level(kLeast - least / found.scale);
  found.levels.reserve(weights.size());
  for (const float weight : weights) {
    found.levels.push_back(
        level(std::nearbyint(weight / found.scale) + static_cast<float>(found.zero_point)));
  }
  return found;
}

constexpr std::array kParts = {"_levels", "_scale", "_zero_point", "_dequantized"};

class SessionWeights {
 public:
  explicit SessionWeights(ModelGraph& model) : model_(model) {
    for (const ModelNode& node : model.nodes) {
      if (node.proto->input_size() == 0 || node.proto->output_size() == 0) continue;
      for (const std::string& output : node.proto->output()) makers_[output] = node.proto;
      for (const std::string& input : reads_of(*node.proto)) readers_[input] = node.proto;
    }
  }

  bool run() {
    std::vector<ModelNode> made;
    for (ModelNode& node : model_.nodes) {
      if (!reads_levels(*node.proto)) continue;
      const onnx::NodeProto* const weights = levels_of_weights(node, made);
      if (weights != nullptr) quantize_bias(node, *weights, made);
    }
    model_.nodes.insert(model_.nodes.begin(), made.begin(), made.end());
    return !made.empty();
  }

 private:
  // A name with which none of the made names is there yet.
  std::string made_prefix(std::string name) const {
    const auto is_free = [&](const char* part) {
      return model_.unused_name(name + part) == name + part;
    };
    while (!std::ranges::all_of(kParts, is_free)) name += "_";
    return name;
  }

  // A layer of levels, before moves of one reader; its bias is absent or a vector. Float32 weights
  // become levels where its numbers do, after Relu, Clip and moves of one reader
  // (weight_bias_quantization.cc and qdq_propagation.cc in onnxruntime/core/optimizer).
  bool reads_levels(const onnx::NodeProto& proto) const {
    const std::string& op = proto.op_type();
    if ((op != "Conv" && op != "Gemm" && op != "ConvTranspose") || proto.input_size() < 2 ||
        proto.output_size() != 1) {
      return false;
    }
    if (proto.input_size() == 3 && !proto.input(2).empty()) {
      const onnx::TensorProto* const bias = model_.constant(proto.input(2));
      if (bias == nullptr || bias->dims_size() != 1 ||
          bias->data_type() != onnx::TensorProto::FLOAT) {
        return false;
      }
    }
    return source_of(proto) != nullptr;
  }

  bool is_move(const onnx::NodeProto& node) const {
    const std::string& op = node.op_type();
    return op == "Transpose" || op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" ||
           op == "Slice" || (op == "MaxPool" && model_.opset >= 12);
  }

  bool is_read_once(const std::string& tensor) const {
    return model_.reads_of(tensor) == 1 && !model_.is_output(tensor);
  }

  // The DequantizeLinear that a layer reads, before moves.
  const onnx::NodeProto* source_of(const onnx::NodeProto& layer) const {
    const std::string* tensor = &layer.input(0);
    for (;;) {
      const auto found = makers_.find(*tensor);
      if (found == makers_.end()) return nullptr;
      if (found->second->op_type() == "DequantizeLinear") return found->second;
      if (!is_move(*found->second) || !is_read_once(*tensor)) return nullptr;
      tensor = &found->second->input(0);
    }
  }

  bool ends_in_levels(const std::string& output) const {
    bool has_moved = false;
    for (const std::string* tensor = &output; is_read_once(*tensor);) {
      const auto found = readers_.find(*tensor);
      if (found == readers_.end() || found->second->input(0) != *tensor) return false;
      const onnx::NodeProto& reader = *found->second;
      const bool clamps = reader.op_type() == "Relu" || reader.op_type() == "Clip";
      if (reader.op_type() == "QuantizeLinear") return true;
      if (!is_move(reader) && (!clamps || has_moved)) return false;
      has_moved = has_moved || is_move(reader);
      tensor = &reader.output(0);
    }
    return false;
  }

  // The DequantizeLinear of a layer's weights, which is made where they are float32 numbers. Null
  // where they are not constant.
  const onnx::NodeProto* levels_of_weights(ModelNode& node, std::vector<ModelNode>& made) {
    const std::string name = node.proto->input(1);
    const onnx::TensorProto* const proto = model_.constant(name);
    if (proto == nullptr) {
      const auto found = makers_.find(name);
      const bool are_levels = found != makers_.end() &&
                              found->second->op_type() == "DequantizeLinear" &&
                              model_.constant(found->second->input(0)) != nullptr;
      return are_levels ? found->second : nullptr;
    }
    if (proto->data_type() != onnx::TensorProto::FLOAT || !ends_in_levels(node.proto->output(0))) {
      return nullptr;
    }
    const Tensor weights = NodeReader(model_, node).constant(1, "weights");
    if (!std::ranges::all_of(weights.as<float>(), [](float w) { return std::isfinite(w); })) {
      return nullptr;
    }
    const std::string made_name = made_prefix(name + "_of_" + std::to_string(node.index));
    made.push_back(dequantize(node, made_name, weights));
    onnx::NodeProto& reader = model_.made_nodes.emplace_back(*node.proto);
    reader.set_input(1, made_name + "_dequantized");
    node.proto = &reader;
    return made.back().proto;
  }

  std::optional<std::vector<float>> scales_of(const onnx::NodeProto& dequantize, int index) const {
    const onnx::TensorProto* const proto =
        dequantize.input_size() < 2 ? nullptr : model_.constant(dequantize.input(1));
    if (proto == nullptr || proto->data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
    const Tensor scales = NodeReader(model_, {&dequantize, index}).constant(1, "x_scale");
    return std::vector<float>(scales.as<float>().begin(), scales.as<float>().end());
  }

  // A float32 bias becomes int32 of the scale x_scale * w_scale.
  void quantize_bias(ModelNode& node, const onnx::NodeProto& weights,
                     std::vector<ModelNode>& made) {
    if (node.proto->input_size() < 3 || node.proto->input(2).empty()) return;
    const auto x_scales = scales_of(*source_of(*node.proto), node.index);
    const auto w_scales = scales_of(weights, node.index);
    const Tensor bias = NodeReader(model_, node).constant(2, "bias");
    const auto numbers = bias.as<float>();
    if (!x_scales || !w_scales || x_scales->size() != 1 ||
        (w_scales->size() != 1 && w_scales->size() != numbers.size())) {
      return;
    }
    Tensor levels(DType::kInt32, bias.shape);
    Tensor scales(DType::kFloat32, w_scales->size() == 1 ? Shape{} : bias.shape);
    for (std::size_t c = 0; c < w_scales->size(); ++c) {
      scales.as<float>()[c] = (*x_scales)[0] * (*w_scales)[c];
    }
    for (std::size_t c = 0; c < numbers.size(); ++c) {
      const float level =
          std::nearbyint(numbers[c] / scales.as<float>()[c < w_scales->size() ? c : 0]);
      if (!(std::abs(level) < 0x1p31F)) return;
      levels.as<std::int32_t>()[c] = static_cast<std::int32_t>(level);
    }
    const std::string name =
        made_prefix(node.proto->input(2) + "_of_" + std::to_string(node.index));
    model_.add_constant(name + "_levels", proto_of(levels));
    model_.add_constant(name + "_scale", proto_of(scales));
    onnx::NodeProto& dequantized = model_.made_nodes.emplace_back();
    dequantized.set_op_type("DequantizeLinear");
    dequantized.set_name(node.proto->name() + "_bias");
    for (const char* part : {"_levels", "_scale"}) dequantized.add_input(name + part);
    dequantized.add_output(name + "_dequantized");
    if (w_scales->size() > 1) add_integer(dequantized, "axis", 0);
    made.push_back({&dequantized, node.index});
    onnx::NodeProto& reader = model_.made_nodes.emplace_back(*node.proto);
    reader.set_input(2, name + "_dequantized");
    node.proto = &reader;
  }

  // The DequantizeLinear of the weights' levels. It has the number of the node that reads it.
  ModelNode dequantize(const ModelNode& reader, const std::string& name, const Tensor& weights) {
    const LevelsOfWeights found = levels_of(weights.as<float>());
    onnx::TensorProto levels;
    levels.set_data_type(onnx::TensorProto::INT8);
    for (const std::int64_t dim : weights.shape) levels.add_dims(dim);
    levels.set_raw_data(found.levels.data(), found.levels.size());
    onnx::TensorProto scale;
    scale.set_data_type(onnx::TensorProto::FLOAT);
    scale.add_float_data(found.scale);
    onnx::TensorProto zero_point;
    zero_point.set_data_type(onnx::TensorProto::INT8);
    zero_point.add_int32_data(found.zero_point);
    model_.add_constant(name + "_levels", std::move(levels));
    model_.add_constant(name + "_scale", std::move(scale));
    model_.add_constant(name + "_zero_point", std::move(zero_point));
    onnx::NodeProto& node = model_.made_nodes.emplace_back();
    node.set_op_type("DequantizeLinear");
    node.set_name(reader.proto->name() + "_weights");
    for (const char* part : {"_levels", "_scale", "_zero_point"}) node.add_input(name + part);
    node.add_output(name + "_dequantized");
    return {&node, reader.index};
  }

  ModelGraph& model_;
  std::map<std::string, const onnx::NodeProto*, std::less<>> makers_;
  std::map<std::string, const onnx::NodeProto*, std::less<>> readers_;
};

}  // namespace

bool quantize_session_weights(ModelGraph& model) { return SessionWeights(model).run(); }

}  // namespace qsim::formats
