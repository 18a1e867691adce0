#include "formats/onnx/importer/stand_ins.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/network/float_rules.h"
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/part_rewrites.h"

namespace qsim::formats {
namespace {

std::string name_of(const HostNetwork& network, HostValueId id) { return network.values[id].name; }

const Tensor* constant_at(const HostNetwork& network, const HostNode& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsentValue) return nullptr;
  const HostArray& array = network.values[node.inputs[input]].array;
  return array.has_values() ? &array.tensor : nullptr;
}

// The one number of a scale or a zero_point; 0 for one that is left out.
std::optional<float> number_at(const HostNetwork& network, const HostNode& node,
                               std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kAbsentValue) return 0.0F;
  const Tensor* const tensor = constant_at(network, node, input);
  if (tensor == nullptr || tensor->elems() != 1) return std::nullopt;
  if (tensor->dtype == DType::kFloat32) return tensor->as<float>()[0];
  if (tensor->dtype != DType::kInt8 && tensor->dtype != DType::kUint8) return std::nullopt;
  return static_cast<float>(
      level_of_byte(std::to_integer<std::size_t>(tensor->bytes[0]), tensor->dtype));
}

// The first DequantizeLinear of a unit's source, and its last QuantizeLinear.
struct Ends {
  std::size_t dequantize = 0;
  std::size_t quantize = 0;
};

std::optional<Ends> ends_of(const HostNetwork& network, const LevelsUnit& unit) {
  std::optional<std::size_t> first;
  std::optional<std::size_t> last;
  for (const std::size_t n : unit.nodes) {
    const HostNode& node = network.nodes[n];
    if (node.inputs.empty() || node.outputs.empty()) continue;
    if (node.op == "DequantizeLinear" && node.inputs[0] == unit.sources[0] && !first) first = n;
    if (node.op == "QuantizeLinear" && node.outputs[0] == unit.output) last = n;
  }
  if (!first || !last || network.nodes[*last].inputs[0] == kAbsentValue) return std::nullopt;
  if (network.nodes[*last].inputs[0] == network.nodes[*first].outputs[0]) return std::nullopt;
  return Ends{*first, *last};
}

// Those of a unit's nodes that make its output.
std::vector<const HostNode*> needed(const std::vector<HostNode>& nodes, const LevelsUnit& unit) {
  std::set<HostValueId> wanted = {unit.output};
  std::vector<const HostNode*> found;
  for (std::size_t i = unit.nodes.size(); i-- > 0;) {
    const HostNode& node = nodes[unit.nodes[i]];
    if (std::ranges::none_of(node.outputs, [&](HostValueId id) { return wanted.contains(id); })) {
      continue;
    }
    found.push_back(&node);
    wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  std::ranges::reverse(found);
  return found;
}

// x becomes factor * x + offset, channel by channel.
class ChannelAffine {
 public:
  ChannelAffine(const HostNetwork& network, std::size_t channels)
      : network_(network), factors(channels, 1.0), offsets(channels, 0.0) {}

  // False for a node that is something else; `of` is the value that it changes.
  bool apply(const HostNode& node, HostValueId of) {
    if (!node.domain.empty()) return false;
    if (node.op == "BatchNormalization") return normalize(node);
    const std::size_t other = node.inputs.size() == 2 && node.inputs[0] == of ? 1 : 0;
    if (node.inputs.size() != 2) return false;
    const std::optional<std::vector<double>> numbers =
        by_channel(constant_at(network_, node, other));
    if (!numbers) return false;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      const double number = (*numbers)[c];
      if (node.op == "Mul") {
        scale(c, number);
      } else if (node.op == "Div" && other == 1) {
        scale(c, 1 / number);
      } else if (node.op == "Add" || (node.op == "Sub" && other == 1)) {
        offsets[c] += node.op == "Add" ? number : -number;
      } else if (node.op == "Sub") {
        scale(c, -1);
        offsets[c] += number;
      } else {
        return false;
      }
    }
    return true;
  }

 private:
  void scale(std::size_t c, double number) {
    factors[c] *= number;
    offsets[c] *= number;
  }

  bool normalize(const HostNode& node) {
    const auto epsilon = node.attributes.find("epsilon");
    const bool has_epsilon = epsilon != node.attributes.end();
    if (has_epsilon && !std::holds_alternative<float>(epsilon->second)) return false;
    if (node.attributes.contains("training_mode") || node.outputs.size() != 1) return false;
    std::vector<std::vector<float>> parameters;
    for (std::size_t i = 1; i <= 4; ++i) {
      const Tensor* const tensor = constant_at(network_, node, i);
      if (tensor == nullptr || tensor->dtype != DType::kFloat32 ||
          tensor->bytes.size() != factors.size() * sizeof(float)) {
        return false;
      }
      parameters.emplace_back(tensor->as<float>().begin(), tensor->as<float>().end());
    }
    const double added = has_epsilon ? std::get<float>(epsilon->second) : 1e-5F;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      offsets[c] -= parameters[2][c];
      scale(c, parameters[0][c] / std::sqrt(parameters[3][c] + added));
      offsets[c] += parameters[1][c];
    }
    return true;
  }

  // One number, or one a channel along the second of four axes.
  std::optional<std::vector<double>> by_channel(const Tensor* tensor) const {
    if (tensor == nullptr || tensor->dtype != DType::kFloat32) return std::nullopt;
    const auto numbers = tensor->as<float>();
    if (numbers.size() == 1) return std::vector<double>(factors.size(), numbers[0]);
    const std::size_t rank = tensor->shape.size();
    if (rank < 3 || rank > 4 || numbers.size() != factors.size() ||
        tensor->shape[rank - 3] != std::ssize(factors)) {
      return std::nullopt;
    }
    return std::vector<double>(numbers.begin(), numbers.end());
  }

  const HostNetwork& network_;

 public:
  std::vector<double> factors;
  std::vector<double> offsets;
};

Tensor f32_of(const std::vector<float>& values) {
  Tensor tensor(DType::kFloat32, {std::ssize(values)});
  std::ranges::copy(values, tensor.as<float>().begin());
  return tensor;
}

onnx::NodeProto node_of(const std::string& op, const std::string& name,
                        const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

constexpr double kWeight = 127;

// The integers of the convolution; nothing where no int8 or int32 holds them.
struct AffineLevels {
  Tensor weights;
  std::vector<float> scales;
  std::vector<float> bias_scales;
  Tensor biases;
};

std::optional<AffineLevels> affine_levels(const ChannelAffine& affine, float input_scale) {
  const auto channels = std::ssize(affine.factors);
  AffineLevels levels = {
      Tensor(DType::kInt8, {channels, 1, 1, 1}), {}, {}, Tensor(DType::kInt32, {channels})};
  for (std::size_t c = 0; c < affine.factors.size(); ++c) {
    const double factor = affine.factors[c];
    const bool is_zero = factor == 0;
    // Where a channel is its offset alone, the bias gets 20 bits.
    const double scale =
        is_zero ? std::abs(affine.offsets[c]) * 0x1p-20 / input_scale : std::abs(factor) / kWeight;
    levels.scales.push_back(scale == 0 ? 1.0F : static_cast<float>(scale));
    levels.bias_scales.push_back(levels.scales[c] * input_scale);
    const double bias = std::nearbyint(affine.offsets[c] / levels.bias_scales[c]);
    const bool fits = std::abs(bias) < std::numeric_limits<std::int32_t>::max() / 2.0;
    if (!std::isnormal(levels.scales[c]) || !std::isnormal(levels.bias_scales[c]) || !fits) {
      return std::nullopt;
    }
    levels.weights.as<std::int8_t>()[c] =
        static_cast<std::int8_t>(is_zero ? 0 : std::copysign(kWeight, factor));
    levels.biases.as<std::int32_t>()[c] = static_cast<std::int32_t>(bias);
  }
  return levels;
}

}  // namespace

void StandIn::add_to(ModelGraph& part) const {
  for (const auto& [name, tensor] : constants) part.add_constant(name, tensor);
  for (const onnx::NodeProto& node : nodes) {
    part.nodes.push_back({&part.made_nodes.emplace_back(node), index});
  }
}

std::optional<StandIn> table_stand_in(const HostNetwork& network,
                                      const std::vector<HostNode>& fused_nodes,
                                      const LevelsUnit& unit, const LevelsFunction& function) {
  const std::optional<Ends> ends = ends_of(network, unit);
  if (!ends || !function) return std::nullopt;
  const HostNode& quantize = network.nodes[ends->quantize];
  const std::optional<float> scale = number_at(network, quantize, 1);
  const std::optional<float> zero_point = number_at(network, quantize, 2);
  if (!scale || !zero_point) return std::nullopt;
  const std::optional<Tensor> levels =
      function(network, needed(fused_nodes, unit), unit.sources[0], unit.output);
  if (!levels) return std::nullopt;
  // The real number of a level becomes that level again.
  std::vector<float> values;
  for (const std::byte byte : levels->bytes) {
    const std::int32_t level = level_of_byte(std::to_integer<std::size_t>(byte), levels->dtype);
    values.push_back((static_cast<float>(level) - *zero_point) * *scale);
  }
  const std::string result = name_of(network, quantize.inputs[0]);
  StandIn stand_in = {{ends->dequantize, ends->quantize}, {}, {}, quantize.index};
  stand_in.constants.emplace_back(result + "/by_level", proto_of(f32_of(values)));
  stand_in.nodes.push_back(
      node_of(kLevelsFunction, quantize.name,
              {name_of(network, network.nodes[ends->dequantize].outputs[0]), result + "/by_level"},
              result));
  stand_in.nodes.back().set_domain(kPartDomain);
  return stand_in;
}

std::optional<StandIn> affine_stand_in(const HostNetwork& network, const LevelsUnit& unit) {
  const std::optional<Ends> ends = ends_of(network, unit);
  const Shape& shape = network.values[unit.sources[0]].array.tensor.shape;
  if (!ends || shape.size() != 4 || shape[1] < 1) return std::nullopt;
  const HostNode& dequantize = network.nodes[ends->dequantize];
  const std::optional<float> input_scale = number_at(network, dequantize, 1);
  if (!input_scale) return std::nullopt;
  ChannelAffine affine(network, static_cast<std::size_t>(shape[1]));
  StandIn stand_in = {{ends->dequantize, ends->quantize}, {}, {}, 0};
  HostValueId value = dequantize.outputs[0];
  bool is_clamped = false;
  const HostNode* last = nullptr;  // of the affine ones
  for (const std::size_t n : unit.nodes) {
    const HostNode& node = network.nodes[n];
    if (n == ends->dequantize || n == ends->quantize) continue;
    if (std::ranges::find(node.inputs, value) == node.inputs.end()) {
      if (is_folded(network, node)) continue;
      return std::nullopt;
    }
    if (node.op == "Relu" || node.op == "Clip") {
      is_clamped = true;
      stand_in.kept.insert(n);
    } else if (is_clamped || !affine.apply(node, value)) {
      return std::nullopt;
    } else {
      last = &node;
    }
    if (node.outputs.empty()) return std::nullopt;
    value = node.outputs[0];
  }
  if (last == nullptr || value != network.nodes[ends->quantize].inputs[0]) return std::nullopt;
  const std::optional<AffineLevels> levels = affine_levels(affine, *input_scale);
  if (!levels) return std::nullopt;
  const std::string result = name_of(network, last->outputs[0]);
  const auto add_constant = [&](const std::string& name, const Tensor& tensor) {
    stand_in.constants.emplace_back(result + name, proto_of(tensor));
    return result + name;
  };
  const auto dequantized = [&](const std::string& name, const Tensor& integers,
                               const std::vector<float>& scales) {
    onnx::NodeProto node =
        node_of("DequantizeLinear", "",
                {add_constant(name, integers), add_constant(name + "_scale", f32_of(scales))},
                result + name + "_dequantized");
    add_integer(node, "axis", 0);
    stand_in.nodes.push_back(std::move(node));
    return result + name + "_dequantized";
  };
  const std::string weights = dequantized("/weights", levels->weights, levels->scales);
  const std::string biases = dequantized("/biases", levels->biases, levels->bias_scales);
  onnx::NodeProto conv = node_of(
      "Conv", last->name, {name_of(network, dequantize.outputs[0]), weights, biases}, result);
  add_integer(conv, "group", shape[1]);
  stand_in.nodes.push_back(std::move(conv));
  stand_in.index = last->index;
  return stand_in;
}

}  // namespace qsim::formats
