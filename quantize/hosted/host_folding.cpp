#include "quantize/hosted/host_folding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "quantize/hosted/host_edit.h"
#include "quantize/hosted/product_weights.h"

namespace qsim::quantize {
namespace {

// TensorProto's numbers of float32, float16 and bfloat16, which a host all has as float32.
constexpr std::array<std::int64_t, 3> kFloatTypes = {1, 10, 16};

// What a node does to each channel: y = factor * x + shift.
struct ChannelMap {
  std::vector<double> factor;
  std::vector<double> shift;
};

std::vector<double> doubles(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

// A constant that is one number a channel of a tensor, or one number; nothing for another.
std::optional<std::vector<double>> channel_numbers(const Tensor* constant, std::int64_t rank,
                                                   std::int64_t axis, std::int64_t channels) {
  if (constant == nullptr || std::ssize(constant->shape) > rank) return std::nullopt;
  if (constant->elems() == 1) {
    return std::vector<double>(static_cast<std::size_t>(channels),
                               static_cast<double>(constant->as<float>()[0]));
  }
  const std::int64_t first = rank - std::ssize(constant->shape);  // the axis of its first dimension
  for (std::int64_t d = 0; d < std::ssize(constant->shape); ++d) {
    const std::int64_t size = constant->shape[static_cast<std::size_t>(d)];
    if (size != (first + d == axis ? channels : 1)) return std::nullopt;
  }
  return constant->elems() == channels ? std::optional(doubles(*constant)) : std::nullopt;
}

class Folding {
 public:
  explicit Folding(HostNetwork network) : network_(std::move(network)), values_(network_) {}

  HostNetwork run() && {
    std::erase_if(network_.nodes, [&](const HostNode& node) { return is_folded(network_, node); });
    drop_idle_nodes();
    for (HostNode& node : network_.nodes) {
      take_factors(node);
      use_add_and_mul(node);
    }
    while (fold_one_round()) {
    }
    remove_unread(network_);
    return std::move(network_);
  }

 private:
  const Tensor* constant(HostValueId id) const { return real_constant(network_, id); }
  const Shape& shape_of(HostValueId id) const { return network_.values[id].array.tensor.shape; }

  HostValueId add_real(const HostNode& node, const char* what, Shape shape,
                       const std::vector<double>& numbers) {
    Tensor tensor(DType::kFloat32, std::move(shape));
    std::ranges::transform(numbers, tensor.as<float>().begin(),
                           [](double number) { return static_cast<float>(number); });
    return values_.add_constant(node.name + what, std::move(tensor));
  }

  bool is_idle(const HostNode& node, const HostUses& uses) const {
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty()) return false;
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      const HostValueId id = node.outputs[i];
      if (id != kAbsentValue && (!uses.readers(id).empty() || uses.is_output(id))) return false;
    }
    if (node.op == "Identity") return true;
    if (node.op == "Dropout") return node.inputs.size() < 3 || !trains(node);
    const HostArray& read = network_.values[node.inputs[0]].array;
    return node.op == "Cast" && read.has_shape() && read.tensor.dtype == DType::kFloat32 &&
           std::ranges::find(kFloatTypes, integer_of(node, "to", 0)) != kFloatTypes.end();
  }

  bool trains(const HostNode& dropout) const {
    const HostArray& mode = network_.values[dropout.inputs[2]].array;
    return !mode.has_values() || mode.tensor.bytes.empty() || mode.tensor.bytes[0] != std::byte{0};
  }

  // A network's outputs keep their names.
  void drop_idle_nodes() {
    std::vector<HostNode> kept;
    for (const HostNode& node : std::vector<HostNode>(network_.nodes)) {
      const HostUses uses(network_);
      const HostValueId from = node.outputs.empty() ? kAbsentValue : node.outputs[0];
      const HostValueId to = node.inputs.empty() ? kAbsentValue : current(node.inputs[0]);
      if (!is_idle(node, uses)) continue;
      if (uses.is_output(from)) {
        if (uses.is_input(to) || uses.is_output(to) || uses.maker(to) == kNoNode) continue;
        const bool rounds_half = network_.values[from].name == node.name && node.op == "Cast";
        if (!rounds_half) std::swap(network_.values[from].name, network_.values[to].name);
      }
      replace_value(network_, from, to);
      replaced_.emplace_back(from, to);
      const auto found = std::ranges::find_if(network_.nodes, [&](const HostNode& each) {
        return !each.outputs.empty() && each.outputs[0] == from;
      });
      network_.nodes.erase(found);
    }
  }

  HostValueId current(HostValueId id) const {
    for (const auto& [from, to] : replaced_) {
      if (id == from) id = to;
    }
    return id;
  }

  // Gemm's alpha and beta.
  void take_factors(HostNode& node) {
    if (!is_onnx(node, "Gemm") || node.inputs.size() < 2) return;
    const float alpha = real_of(node, "alpha", 1);
    const float beta = real_of(node, "beta", 1);
    const HostValueId bias = input_of(node, 2);
    const Tensor* const weights = constant(node.inputs[1]);
    if (weights == nullptr || (bias != kAbsentValue && constant(bias) == nullptr)) return;
    const auto scale = [&](std::size_t index, double factor, const char* what) {
      std::vector<double> numbers = doubles(*constant(node.inputs[index]));
      for (double& number : numbers) number *= factor;
      node.inputs[index] = add_real(node, what, shape_of(node.inputs[index]), numbers);
    };
    if (alpha != 1) scale(1, static_cast<double>(alpha), "/weights");
    if (beta != 1 && bias != kAbsentValue) scale(2, static_cast<double>(beta), "/bias");
    node.attributes.erase("alpha");
    node.attributes.erase("beta");
  }

  void use_add_and_mul(HostNode& node) {
    const bool is_sub = is_onnx(node, "Sub");
    if ((!is_sub && !is_onnx(node, "Div")) || !is_real_tensor(network_, node.inputs[0])) return;
    const Tensor* const number = constant(node.inputs[1]);
    if (number == nullptr || number->elems() != 1) return;
    const auto value = static_cast<double>(number->as<float>()[0]);
    if (!is_sub && !std::isnormal(1 / value)) return;
    node.inputs[1] =
        add_real(node, "/number", shape_of(node.inputs[1]), {is_sub ? -value : 1 / value});
    node.op = is_sub ? "Add" : "Mul";
  }

  // Whether a node was folded into the one before it.
  bool fold_one_round() {
    const HostUses uses(network_);
    for (std::size_t n = 0; n < network_.nodes.size(); ++n) {
      const HostNode& node = network_.nodes[n];
      if (node.outputs.empty() || node.outputs[0] == kAbsentValue) continue;
      const std::size_t next = uses.only_reader(node.outputs[0]);
      if (next != kNoNode && fold(network_.nodes[n], network_.nodes[next])) {
        network_.nodes.erase(network_.nodes.begin() + static_cast<std::ptrdiff_t>(next));
        return true;
      }
    }
    return false;
  }

  bool fold(HostNode& product, const HostNode& next) {
    const HostValueId between = product.outputs[0];
    if (next.outputs.empty() || !is_real_tensor(network_, next.outputs[0]) ||
        !is_real_tensor(network_, between) || shape_of(next.outputs[0]) != shape_of(between)) {
      return false;
    }
    const std::optional<ProductWeights> weights = product_weights(network_, product);
    if (!weights || !weights->out_axis) return false;
    const std::optional<ChannelMap> map = map_of(next, between, *weights);
    if (!map) return false;
    const bool shifts = std::ranges::any_of(map->shift, [](double shift) { return shift != 0; });
    if (product.op == "MatMul" && shifts) {
      if (shape_of(between).size() != 2 || shape_of(product.inputs[0]).size() != 2) return false;
      product.op = "Gemm";
    }
    set_weights(product, *weights, *map);
    product.outputs[0] = next.outputs[0];
    return true;
  }

  void set_weights(HostNode& product, const ProductWeights& weights, const ChannelMap& map) {
    const Tensor& real = *constant(product.inputs[weights.input]);
    Tensor rows = rows_of_channels(real, weights.layout);
    const std::size_t channels = map.factor.size();
    const std::span<float> numbers = rows.as<float>();
    const std::size_t each = numbers.size() / channels;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(static_cast<double>(numbers[i]) * map.factor[i / each]);
    }
    const Shape shape = real.shape;
    product.inputs[weights.input] =
        values_.add_constant(product.name + "/weights", from_rows(rows, weights.layout, shape));
    if (product.op == "MatMul") return;
    std::vector<double> bias(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      bias[c] = static_cast<double>(weights.bias[c]) * map.factor[c] + map.shift[c];
    }
    product.inputs.resize(3, kAbsentValue);
    product.inputs[2] = add_real(product, "/bias", {std::ssize(bias)}, bias);
  }

  std::optional<ChannelMap> map_of(const HostNode& next, HostValueId between,
                                   const ProductWeights& weights) const {
    const std::int64_t rank = std::ssize(shape_of(between));
    const std::int64_t channels = weights.layout.out_channels();
    if (shape_of(between)[static_cast<std::size_t>(*weights.out_axis)] != channels) return {};
    if (is_onnx(next, "BatchNormalization")) return map_of_norm(next, between, weights);
    const bool is_sum = is_onnx(next, "Add") || is_onnx(next, "Sub");
    if (!is_sum && !is_onnx(next, "Mul") && !is_onnx(next, "Div")) return std::nullopt;
    const bool is_first = input_of(next, 0) == between;
    const bool commutes = is_onnx(next, "Add") || is_onnx(next, "Mul");
    if (!is_first && !commutes) return std::nullopt;
    auto numbers = channel_numbers(constant(input_of(next, is_first ? 1 : 0)), rank,
                                   *weights.out_axis, channels);
    if (!numbers) return std::nullopt;
    for (double& number : *numbers) {
      if (is_onnx(next, "Sub")) number = -number;
      if (is_onnx(next, "Div")) number = 1 / number;
    }
    const std::vector<double> ones(numbers->size(), 1.0);
    const std::vector<double> zeros(numbers->size(), 0.0);
    return is_sum ? ChannelMap{ones, *numbers} : ChannelMap{*numbers, zeros};
  }

  std::optional<ChannelMap> map_of_norm(const HostNode& norm, HostValueId between,
                                        const ProductWeights& weights) const {
    const auto channels = static_cast<std::size_t>(weights.layout.out_channels());
    if (*weights.out_axis != 1 || norm.inputs.size() != 5 || norm.inputs[0] != between ||
        integer_of(norm, "training_mode", 0) != 0) {
      return std::nullopt;
    }
    std::array<std::vector<double>, 4> numbers;  // scale, bias, mean, variance
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Tensor* const found = constant(norm.inputs[i + 1]);
      if (found == nullptr || found->as<float>().size() != channels) return std::nullopt;
      numbers[i] = doubles(*found);
    }
    const auto epsilon = static_cast<double>(real_of(norm, "epsilon", 1e-5F));
    ChannelMap map{std::vector<double>(channels), std::vector<double>(channels)};
    for (std::size_t c = 0; c < channels; ++c) {
      map.factor[c] = numbers[0][c] / std::sqrt(numbers[3][c] + epsilon);
      map.shift[c] = numbers[1][c] - numbers[2][c] * map.factor[c];
    }
    return map;
  }

  HostNetwork network_;
  HostValues values_;
  std::vector<std::pair<HostValueId, HostValueId>> replaced_;  // in order
};

}  // namespace

HostNetwork folded_network(HostNetwork network) { return Folding(std::move(network)).run(); }

}  // namespace qsim::quantize
