#include "quantize/hosted/qdq_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/network/layer_arithmetic.h"
#include "quantize/hosted/host_edit.h"
#include "quantize/layer_weights.h"
#include "quantize/merged_statistics.h"

namespace qsim::quantize {
namespace {

// The first with a DequantizeLinear of a scale a channel.
constexpr int kLeastQdqOpset = 13;

template <typename T>
Tensor scalar(T value) {
  return make_tensor<T>({}, std::span<const T>(&value, 1));
}

Tensor levels_tensor(std::int32_t level, bool is_unsigned) {
  if (is_unsigned) return scalar(static_cast<std::uint8_t>(level));
  return scalar(static_cast<std::int8_t>(level));
}

// A constant's int8, or uint8 or int8 with zero_points.
Tensor stored_levels(const IntegerWeights& made, bool is_unsigned) {
  const auto zeros = std::span<const std::int32_t>(made.stored.zero_points);
  if (zeros.empty()) return made.weights;
  const std::size_t count = static_cast<std::size_t>(made.weights.elems());
  const std::size_t each = count / zeros.size();
  Tensor levels(is_unsigned ? DType::kUint8 : DType::kInt8, made.weights.shape);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t centred = made.weights.dtype == DType::kInt8
                                     ? made.weights.as<std::int8_t>()[i]
                                     : made.weights.as<std::int16_t>()[i];
    const std::int32_t level = centred + zeros[i / each] - (is_unsigned ? 0 : 128);
    levels.bytes[i] = static_cast<std::byte>(level);
  }
  return levels;
}

// As a layer of the quantizer, whose weights are rows.
Layer row_layer(const HostNetwork& network, const HostPlan::Product& product) {
  const HostNode& node = network.nodes[product.node];
  Layer layer;
  layer.name = node.name;
  layer.source = node.source;
  FullyConnected rows;
  rows.weights = rows_of_channels(*real_constant(network, node.inputs[product.weights.input]),
                                  product.weights.layout);
  rows.bias =
      make_tensor<float>({std::ssize(product.weights.bias)}, std::span(product.weights.bias));
  layer.operation = std::move(rows);
  return layer;
}

class Builder {
 public:
  Builder(const HostNetwork& network, const HostPlan& plan, const std::vector<Quantization>& groups,
          const Scheme& scheme)
      : float_(network),
        plan_(plan),
        groups_(groups),
        scheme_(scheme),
        qdq_{network, std::vector<std::optional<HostValueId>>(network.values.size())},
        values_(qdq_.network),
        ends_(groups.size()) {
    for (const HostNode& node : network.nodes) {
      if (node.domain.empty()) opset_ = std::max(opset_, node.opset);
    }
  }

  QdqNetwork run() && {
    std::vector<HostNode> nodes = std::exchange(qdq_.network.nodes, {});
    for (const HostPlan::Product& product : plan_.products) {
      quantize_weights_of(product, nodes[product.node]);
    }
    for (const HostValueId id : float_.inputs) {
      if (plan_.group_of[id]) quantize_input(id, nodes);
    }
    for (HostNode& node : nodes) add_node(std::move(node));
    return std::move(qdq_);
  }

 private:
  struct Ends {
    HostValueId scale = kAbsentValue;
    HostValueId zero_point = kAbsentValue;
  };

  bool is_unsigned() const { return scheme_.all.activations.is_unsigned; }
  const std::string& name_of(HostValueId id) const { return qdq_.network.values[id].name; }

  HostValueId emit(const char* op, const std::string& wanted, std::vector<HostValueId> inputs,
                   std::optional<HostValueId> output = {}, std::optional<std::int64_t> axis = {}) {
    HostNode node;
    node.op = op;
    node.opset = opset_;
    node.index = -1;
    const HostValueId made = output ? *output : values_.add(wanted);
    node.name = wanted;
    node.source = "'" + wanted + "' (" + op + ")";
    if (axis) node.attributes["axis"] = *axis;
    node.inputs = std::move(inputs);
    node.outputs = {made};
    qdq_.network.nodes.push_back(std::move(node));
    return made;
  }

  const Ends& ends(HostValueId id) {
    const std::size_t group = *plan_.group_of[id];
    Ends& found = ends_[group];
    if (found.scale == kAbsentValue) {
      const std::string base = name_of(plan_.groups[group].values.front());
      const Quantization& quantization = groups_[group];
      found.scale = values_.add_constant(base + "/scale", scalar(quantization.scale));
      found.zero_point = values_.add_constant(
          base + "/zero_point", levels_tensor(quantization.zero_point, is_unsigned()));
    }
    return found;
  }

  // From `reals` to levels; returns the levels.
  HostValueId quantize(HostValueId id, HostValueId reals) {
    const Ends own = ends(id);
    const std::string base = name_of(id);
    const Quantization& quantization = groups_[*plan_.group_of[id]];
    const std::int32_t lo = is_unsigned() ? 0 : -128;
    const bool is_narrow = quantization.lo != lo || quantization.hi != lo + 255;
    if (is_narrow && !plan_.is_moved[id]) {
      const auto real = [&](std::int32_t level) {
        return scalar(static_cast<float>(level - quantization.zero_point) * quantization.scale);
      };
      const HostValueId low = values_.add_constant(base + "/least", real(quantization.lo));
      const HostValueId high = values_.add_constant(base + "/most", real(quantization.hi));
      reals = emit("Clip", base + "/clip", {reals, low, high});
    }
    return emit("QuantizeLinear", base + "/levels", {reals, own.scale, own.zero_point});
  }

  void quantize_input(HostValueId id, std::vector<HostNode>& nodes) {
    const HostValueId levels = quantize(id, id);
    const Ends own = ends(id);
    const HostValueId reals =
        emit("DequantizeLinear", name_of(id) + "/real", {levels, own.scale, own.zero_point});
    for (HostNode& node : nodes) std::ranges::replace(node.inputs, id, reals);
    qdq_.reals[id] = reals;
  }

  // The node writes new values in the place of those that are quantized, which a DequantizeLinear
  // writes then: who reads them reads real numbers of levels.
  void add_node(HostNode node) {
    std::vector<std::pair<HostValueId, HostValueId>> quantized;
    for (HostValueId& id : node.outputs) {
      if (id == kAbsentValue || id >= plan_.group_of.size() || !plan_.group_of[id]) continue;
      const HostValueId reals = values_.add(name_of(id) + "/real");
      quantized.emplace_back(std::exchange(id, reals), reals);
    }
    qdq_.network.nodes.push_back(std::move(node));
    for (const auto& [id, reals] : quantized) {
      const HostValueId levels = quantize(id, reals);
      const Ends own = ends(id);
      emit("DequantizeLinear", name_of(id) + "/dequantize", {levels, own.scale, own.zero_point},
           id);
      qdq_.reals[id] = id;
    }
  }

  void quantize_weights_of(const HostPlan::Product& product, HostNode& node) {
    const HostValueId read = node.inputs[1 - product.weights.input];
    const Quantization& input = groups_[*plan_.group_of[read]];
    const Quantization& output = groups_[*plan_.group_of[product.output]];
    const Layer layer = row_layer(float_, product);
    LayerScheme scheme = scheme_of(scheme_, node.name);
    scheme.weights.per_channel = scheme.weights.per_channel && product.weights.axis.has_value();
    const DecidedWeights decided = decide_weights(layer, scheme, {input, output}, {});
    const IntegerWeights made = integer_weights(layer, decided, input, output);
    HostValueId& weights = node.inputs[product.weights.input];
    const Tensor levels = from_rows(stored_levels(made, is_unsigned()), product.weights.layout,
                                    float_.values[weights].array.tensor.shape);
    weights = add_weights(node.name, levels, made, product);
    if (input_of(node, 2) != kAbsentValue) node.inputs[2] = add_bias(node.name, made, input);
  }

  HostValueId add_weights(const std::string& name, const Tensor& levels, const IntegerWeights& made,
                          const HostPlan::Product& product) {
    const bool is_one = made.stored.scales.size() == 1;
    const Shape shape = is_one ? Shape{} : Shape{std::ssize(made.stored.scales)};
    std::vector<HostValueId> inputs = {
        values_.add_constant(name + "/weights/levels", levels),
        values_.add_constant(name + "/weights/scale",
                             make_tensor<float>(shape, std::span(made.stored.scales)))};
    if (!made.stored.zero_points.empty()) {
      Tensor zeros(levels.dtype, shape);
      for (std::size_t c = 0; c < made.stored.zero_points.size(); ++c) {
        zeros.bytes[c] =
            static_cast<std::byte>(made.stored.zero_points[c] - (is_unsigned() ? 0 : 128));
      }
      inputs.push_back(values_.add_constant(name + "/weights/zero_point", std::move(zeros)));
    }
    return emit("DequantizeLinear", name + "/weights/real", std::move(inputs), std::nullopt,
                is_one ? std::nullopt : product.weights.axis);
  }

  HostValueId add_bias(const std::string& name, const IntegerWeights& made,
                       const Quantization& input) {
    std::vector<float> scales;
    for (const float scale : made.stored.scales) {
      scales.push_back(
          static_cast<float>(static_cast<double>(input.scale) * static_cast<double>(scale)));
    }
    const bool is_one = scales.size() == 1;
    const Shape shape = is_one ? Shape{} : Shape{std::ssize(scales)};
    return emit(
        "DequantizeLinear", name + "/bias/real",
        {values_.add_constant(name + "/bias/levels", made.bias),
         values_.add_constant(name + "/bias/scale", make_tensor<float>(shape, std::span(scales)))},
        std::nullopt, is_one ? std::nullopt : std::optional<std::int64_t>(0));
  }

  const HostNetwork& float_;
  const HostPlan& plan_;
  const std::vector<Quantization>& groups_;
  const Scheme& scheme_;
  QdqNetwork qdq_;
  HostValues values_;
  std::vector<Ends> ends_;  // by group
  int opset_ = kLeastQdqOpset;
};

// ONNX Runtime 1.30 refuses a file with a Clip whose end is in the last half step of the levels: it
// takes the Clip out, and leaves two nodes of one name. Such levels end where the Clip does.
void end_with_clip(const HostNetwork& network, const HostNode& clip, Quantization& levels) {
  for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
    const HostValueId id = input_of(clip, operand);
    const Tensor* const end = id == kAbsentValue ? nullptr : real_constant(network, id);
    if (end == nullptr || end->elems() != 1) continue;
    const auto last =
        static_cast<float>((operand == 1 ? levels.lo : levels.hi) - levels.zero_point);
    const float real = end->as<float>()[0];
    if (real * last <= 0 || std::abs(real / levels.scale) < std::abs(last) - 0.5F) continue;
    while (std::abs(levels.scale * last) > std::abs(real)) {
      levels.scale = std::min(real / last, std::nextafter(levels.scale, 0.0F));
    }
  }
}

}  // namespace

Graph layers_of_plan(const HostNetwork& network, const HostPlan& plan) {
  Graph graph;
  std::map<std::size_t, const HostPlan::Product*> products;
  for (const HostPlan::Product& product : plan.products) products[product.node] = &product;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    Layer layer;
    layer.name = network.nodes[n].name;
    layer.operation = Add{};
    if (products.contains(n)) layer.operation = FullyConnected{};
    graph.layers.push_back(std::move(layer));
  }
  return graph;
}

std::vector<Quantization> quantize_groups(const HostNetwork& network, const HostPlan& plan,
                                          const std::vector<TensorStatistics>& statistics,
                                          const Scheme& scheme) {
  const HostUses uses(network);
  const auto scheme_of_group = [&](const HostPlan::Group& group) -> const LayerScheme& {
    if (group.has_input) return scheme.input;
    for (const HostValueId id : group.values) {
      const auto found = scheme.layers.find(network.nodes[uses.maker(id)].name);
      if (found != scheme.layers.end()) return found->second;
    }
    return scheme.all;
  };
  std::vector<Quantization> groups;
  for (const HostPlan::Group& group : plan.groups) {
    std::vector<const TensorStatistics*> parts;
    for (const HostValueId root : group.roots) parts.push_back(&statistics[root]);
    const LayerScheme& own = scheme_of_group(group);
    Quantization made = activation_quantization(merged(parts), own.clipping, own.activations,
                                                own.symmetry, own.kind);
    if (group.has_input) {  // QuantizeLinear saturates to the type alone
      made.lo = own.activations.is_unsigned ? 0 : -128;
      made.hi = made.lo + 255;
    }
    if (own.kind == ScaleKind::kFloat) {
      for (const HostValueId id : group.values) {
        const std::size_t maker = uses.maker(id);
        if (maker == kNoNode || !is_onnx(network.nodes[maker], "Clip")) continue;
        end_with_clip(network, network.nodes[maker], made);
      }
    }
    groups.push_back(made);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const HostPlan::Addition& sum : plan.additions) {
      Quantization& output = groups[*plan.group_of[sum.output]];
      for (const HostValueId id : {sum.a, sum.b}) {
        changed |= widen_addition(groups[*plan.group_of[id]], output);
      }
    }
  }
  return groups;
}

QdqNetwork qdq_network(const HostNetwork& network, const HostPlan& plan,
                       const std::vector<Quantization>& groups, const Scheme& scheme) {
  return Builder(network, plan, groups, scheme).run();
}

}  // namespace qsim::quantize
