#include "formats/onnx/importer/session_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
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
      for (const std::string& output : node.proto->output()) makers_[output] = node.proto;
      for (const std::string& input : reads_of(*node.proto)) readers_[input] = node.proto;
    }
  }

  bool run() {
    std::vector<ModelNode> made;
    for (ModelNode& node : model_.nodes) {
      if (!is_between_levels(*node.proto)) continue;
      const std::string& name = node.proto->input(1);
      const onnx::TensorProto* const proto = model_.constant(name);
      if (proto == nullptr || proto->data_type() != onnx::TensorProto::FLOAT) continue;
      const Tensor weights = NodeReader(model_, node).constant(1, "weights");
      if (!std::ranges::all_of(weights.as<float>(), [](float w) { return std::isfinite(w); })) {
        continue;
      }
      const std::string made_name = made_prefix(name + "_of_" + std::to_string(node.index));
      made.push_back(dequantize(node, made_name, weights));
      onnx::NodeProto& reader = model_.made_nodes.emplace_back(*node.proto);
      reader.set_input(1, made_name + "_dequantized");
      if (reader.op_type() == "ConvTranspose") round_bias(node, reader, weights);
      node.proto = &reader;
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

  bool is_between_levels(const onnx::NodeProto& node) const {
    const std::string& op = node.op_type();
    if ((op != "Conv" && op != "Gemm" && op != "ConvTranspose") || node.input_size() < 2) {
      return false;
    }
    const auto before = makers_.find(node.input(0));
    const auto after = readers_.find(node.output(0));
    return before != makers_.end() && before->second->op_type() == "DequantizeLinear" &&
           after != readers_.end() && after->second->op_type() == "QuantizeLinear" &&
           model_.reads_of(node.output(0)) == 1 && !model_.is_output(node.output(0));
  }

  // A bias that stays float32 takes part as a multiple of x_scale * w_scale; those of Conv and Gemm
  // become int32 in their own import.
  void round_bias(const ModelNode& node, onnx::NodeProto& reader, const Tensor& weights) {
    if (reader.input_size() < 3 || model_.constant(reader.input(2)) == nullptr) return;
    const onnx::NodeProto& before = *makers_.at(reader.input(0));
    const onnx::TensorProto* const scale =
        before.input_size() < 2 ? nullptr : model_.constant(before.input(1));
    if (scale == nullptr || scale->data_type() != onnx::TensorProto::FLOAT) return;
    const Tensor scales = NodeReader(model_, {&before, node.index}).constant(1, "x_scale");
    Tensor bias = NodeReader(model_, node).constant(2, "bias");
    if (scales.elems() != 1 || bias.dtype != DType::kFloat32) return;
    const float step = scales.as<float>()[0] * levels_of(weights.as<float>()).scale;
    for (float& value : bias.as<float>()) value = std::nearbyint(value / step) * step;
    const std::string name = model_.unused_name(reader.output(0) + "_bias");
    model_.add_constant(name, proto_of(bias));
    reader.set_input(2, name);
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
