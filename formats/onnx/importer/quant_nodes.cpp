#include "formats/onnx/importer/quant_nodes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/part_rewrites.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {
namespace {

constexpr std::array<std::string_view, 3> kDomains = {"onnx.brevitas", "qonnx.custom_op.general",
                                                      "finn.custom_op.general"};

// What a node does to a constant: level = clamp(rint(x / scale + zero_point), lo, hi). Other
// numbers get QuantizeLinear's rounding, before its zero_point.
struct Rule {
  std::vector<float> scales;       // one, or one along an axis
  std::int64_t axis_from_end = 1;  // 1: the last one
  std::int64_t axis(std::int64_t rank) const { return rank - axis_from_end; }
  std::int32_t zero_point = 0;
  DType dtype = DType::kInt8;
  std::int32_t lo = -128;
  std::int32_t hi = 127;

  bool is_whole_type() const { return hi - lo == 255; }
};

class Replacing {
 public:
  explicit Replacing(ModelGraph& model) : model_(model) {}

  void run() {
    std::vector<ModelNode> nodes;
    bool has_changed = false;
    for (const ModelNode& node : model_.nodes) {
      const std::size_t before = made_.size();
      const bool is_known = std::ranges::find(kDomains, node.proto->domain()) != kDomains.end() &&
                            node.proto->output_size() == 1;
      if (!is_known || !replace(node)) {
        nodes.push_back(node);
        continue;
      }
      has_changed = true;
      nodes.insert(nodes.end(), made_.begin() + static_cast<std::ptrdiff_t>(before), made_.end());
    }
    if (!has_changed) return;
    model_.nodes = std::move(nodes);
    model_.reads.clear();
    for (const ModelNode& node : model_.nodes) {
      for (const std::string& input : reads_of(*node.proto)) ++model_.reads[input];
    }
  }

 private:
  bool replace(const ModelNode& node) {
    const onnx::NodeProto& proto = *node.proto;
    if (proto.op_type() == "BipolarQuant" && proto.input_size() == 2) return bipolar(node);
    if (proto.op_type() != "Quant" || proto.input_size() != 4) return false;
    const std::optional<Rule> rule = rule_of(proto);
    if (!rule) return false;
    if (const auto x = reals_of(proto.input(0))) {
      const auto is_finite = [](float real) { return std::isfinite(real); };
      if (!std::ranges::all_of(x->as<float>(), is_finite)) return false;
      return dequantize(node, *rule, levels_of(*x, *rule));
    }
    if (rule->scales.size() != 1) return false;
    const std::string levels = add_levels(node, *rule);
    finish(node, *rule, levels, 0);
    return true;
  }

  std::optional<Tensor> reals_of(const std::string& name) const {
    const onnx::TensorProto* const proto = model_.constant(name);
    if (proto == nullptr || proto->data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
    return decode_host_tensor(*proto, files_of(*model_.file, *proto), model_.source);
  }

  std::optional<float> number_of(const std::string& name) const {
    const std::optional<Tensor> found = reals_of(name);
    return found && found->elems() == 1 ? std::optional(found->as<float>()[0]) : std::nullopt;
  }

  std::optional<Rule> rule_of(const onnx::NodeProto& proto) const {
    const auto bits = number_of(proto.input(3));
    const auto zero_point = number_of(proto.input(2));
    const onnx::AttributeProto* const rounding = find_attribute(proto, "rounding_mode");
    const bool rounds = rounding == nullptr || rounding->s() == "ROUND";
    if (!rounds || !bits || !zero_point || *bits < 2 || *bits > 8 || *bits != std::rint(*bits) ||
        *zero_point != std::rint(*zero_point)) {
      return std::nullopt;
    }
    const bool is_signed = integer_of(proto, "signed", 1) != 0;
    const bool is_narrow = integer_of(proto, "narrow", 0) != 0;
    const auto count = static_cast<std::int32_t>(1) << static_cast<int>(*bits);
    std::optional<Rule> rule = scaled(proto.input(1));
    if (!rule) return std::nullopt;
    rule->dtype = is_signed ? DType::kInt8 : DType::kUint8;
    rule->lo = is_signed ? -count / 2 + (is_narrow ? 1 : 0) : 0;
    rule->hi = is_signed ? count / 2 - 1 : count - 1 - (is_narrow ? 1 : 0);
    rule->zero_point = static_cast<std::int32_t>(*zero_point);
    if (rule->zero_point < rule->lo || rule->zero_point > rule->hi) return std::nullopt;
    return rule;
  }

  // A rule with these scales, which are one number or go along one axis; else nothing.
  std::optional<Rule> scaled(const std::string& name) const {
    const std::optional<Tensor> scales = reals_of(name);
    if (!scales || scales->elems() < 1) return std::nullopt;
    Rule rule;
    rule.scales.assign(scales->as<float>().begin(), scales->as<float>().end());
    const auto is_scale = [](float scale) { return std::isnormal(scale) && scale > 0; };
    if (!std::ranges::all_of(rule.scales, is_scale)) return std::nullopt;
    const auto& shape = scales->shape;
    const auto longest = std::ranges::find_if(shape, [](std::int64_t dim) { return dim > 1; });
    if (longest == shape.end()) return rule;
    rule.axis_from_end = shape.end() - longest;
    return *longest == scales->elems() ? std::optional(rule) : std::nullopt;
  }

  static Tensor levels_of(const Tensor& x, const Rule& rule) {
    Tensor levels(rule.dtype, x.shape);
    std::int64_t inner = 1;  // elements from one scale to the next
    const auto rank = std::ssize(x.shape);
    for (std::int64_t d = std::max<std::int64_t>(rule.axis(rank) + 1, 0); d < rank; ++d) {
      inner *= x.shape[static_cast<std::size_t>(d)];
    }
    const auto reals = x.as<float>();
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const std::size_t s = i / static_cast<std::size_t>(inner) % rule.scales.size();
      const float real = reals[i] / rule.scales[s] + static_cast<float>(rule.zero_point);
      const float level = std::clamp(std::nearbyint(real), static_cast<float>(rule.lo),
                                     static_cast<float>(rule.hi));
      levels.bytes[i] = static_cast<std::byte>(static_cast<std::int32_t>(level));
    }
    return levels;
  }

  bool bipolar(const ModelNode& node) {
    const std::optional<Tensor> x = reals_of(node.proto->input(0));
    std::optional<Rule> rule = scaled(node.proto->input(1));
    if (!x || !rule) return false;
    Tensor levels(DType::kInt8, x->shape);
    std::ranges::transform(x->as<float>(), levels.as<std::int8_t>().begin(),
                           [](float real) { return static_cast<std::int8_t>(real >= 0 ? 1 : -1); });
    return dequantize(node, *rule, levels);
  }

  bool dequantize(const ModelNode& node, const Rule& rule, const Tensor& levels) {
    const std::int64_t axis = rule.axis(std::ssize(levels.shape));
    if (rule.scales.size() > 1 &&
        (axis < 0 || levels.shape[static_cast<std::size_t>(axis)] != std::ssize(rule.scales))) {
      return false;
    }
    finish(node, rule, add_constant(node, "levels", levels), axis);
    return true;
  }

  std::string add_constant(const ModelNode& node, const std::string& what, const Tensor& tensor) {
    const std::string name = model_.unused_name(node.proto->output(0) + "_" + what);
    model_.add_constant(name, proto_of(tensor));
    return name;
  }

  onnx::NodeProto& add_node(const ModelNode& node, const std::string& op,
                            const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& made = model_.made_nodes.emplace_back();
    made.set_op_type(op);
    made.set_name(node.proto->name());
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    // Numbers that no node of the file has: nodes are told apart by them.
    made_.push_back({&made, 2 * model_.file->proto.graph().node_size() + next_index_++});
    return made;
  }

  Tensor zero_points_of(const Rule& rule) const {
    Tensor zeros(rule.dtype, shape_of(rule));
    std::ranges::fill(zeros.bytes, static_cast<std::byte>(rule.zero_point));
    return zeros;
  }

  static Shape shape_of(const Rule& rule) {
    return rule.scales.size() == 1 ? Shape{} : Shape{std::ssize(rule.scales)};
  }

  Tensor scales_of(const Rule& rule) const {
    Tensor scales(DType::kFloat32, shape_of(rule));
    std::ranges::copy(rule.scales, scales.as<float>().begin());
    return scales;
  }

  std::string add_levels(const ModelNode& node, const Rule& rule) {
    std::string levels = model_.unused_name(node.proto->output(0) + "_quantized");
    add_node(node, "QuantizeLinear",
             {node.proto->input(0), add_constant(node, "scale_of_levels", scales_of(rule)),
              add_constant(node, "zero_of_levels", zero_points_of(rule))},
             levels);
    if (rule.is_whole_type()) return levels;
    const auto bound = [&](const std::string& what, std::int32_t level) {
      Tensor tensor(rule.dtype, {});
      tensor.bytes[0] = static_cast<std::byte>(level);
      return add_constant(node, what, tensor);
    };
    const std::string clipped = model_.unused_name(node.proto->output(0) + "_clipped");
    add_node(node, "Clip", {levels, bound("least", rule.lo), bound("most", rule.hi)}, clipped);
    return clipped;
  }

  void finish(const ModelNode& node, const Rule& rule, const std::string& levels,
              std::int64_t axis_of_scales) {
    onnx::NodeProto& made = add_node(node, "DequantizeLinear",
                                     {levels, add_constant(node, "scale", scales_of(rule)),
                                      add_constant(node, "zero_point", zero_points_of(rule))},
                                     node.proto->output(0));
    if (rule.scales.size() > 1) add_integer(made, "axis", axis_of_scales);
  }

  ModelGraph& model_;
  std::vector<ModelNode> made_;
  int next_index_ = 0;
};

}  // namespace

void replace_quant_nodes(ModelGraph& model) { Replacing(model).run(); }

}  // namespace qsim::formats
