#include "formats/onnx/importer/session_rewrites.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "formats/onnx/importer/clip_bounds.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/pad_amounts.h"
#include "formats/onnx/importer/quantization.h"

namespace qsim::formats {
namespace {

// What `read` gives; nothing where the node is not as `read` wants it. The importer says later what
// is wrong with it.
template <typename Read>
auto if_readable(const Read& read) -> decltype(std::optional(read())) {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The scale and zero_point that a QuantizeLinear or DequantizeLinear gives, both of them constants.
std::optional<Quantization> given_quantization(const NodeReader& node) {
  if (node.inputs() != 3 || !node.is_constant(1) || !node.is_constant(2)) return std::nullopt;
  return if_readable([&] { return read_quantization(node, 1, "x"); });
}

// The quantization of the range that both have (DoubleQDQPairsRemover in
// core/optimizer/double_qdq_pairs_remover.cc), in float32 as there. Nothing where that is 0 alone.
std::optional<Quantization> joined(const Quantization& a, const Quantization& b) {
  const auto real = [](std::int32_t level, const Quantization& q) {
    return static_cast<float>(level - q.zero_point) * q.scale.real();
  };
  const float least = std::max(real(a.min(), a), real(b.min(), b));
  const float most = std::min(real(a.max(), a), real(b.max(), b));
  const float step = (most - least) / static_cast<float>(a.max() - a.min());
  const auto scale = Scale::of(step);
  if (!scale) return std::nullopt;
  const float zero_point = std::round(static_cast<float>(a.min()) - least / step);
  return Quantization{a.dtype, static_cast<std::int32_t>(zero_point), *scale};
}

class Rewriting {
 public:
  Rewriting(ModelGraph& model, std::vector<ModelNode>& nodes)
      : model_(model), nodes_(nodes), gone_(nodes.size(), false) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& input : reads_of(*nodes[i].proto)) readers_[input] = i;
    }
  }

  void run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      while (is(i, "QuantizeLinear") && drop_inner_pair(i)) {
      }
      if (is(i, "Pad")) fuse_pad(i);
    }
    for (std::size_t i = nodes_.size(); i > 0; --i) {
      if (is(i - 1, "Clip")) drop_clip(i - 1);
    }
    if (!changed_.empty()) commit();
  }

 private:
  bool is(std::size_t i, std::string_view op_type) const {
    return !gone_[i] && nodes_[i].proto->op_type() == op_type;
  }
  NodeReader reader(std::size_t i) const { return {model_, nodes_[i]}; }

  // A node's one reader, which reads it as input 0.
  std::optional<std::size_t> only_reader(std::size_t i) const {
    const std::string& tensor = nodes_[i].proto->output(0);
    const auto found = readers_.find(tensor);
    const bool is_one = !tensor.empty() && !model_.is_output(tensor) &&
                        model_.reads_of(tensor) == 1 && found != readers_.end() &&
                        nodes_[found->second].proto->input(0) == tensor;
    return is_one ? std::optional(found->second) : std::nullopt;
  }

  // The same after nodes that change nothing: Identity, and Cast to `type`, which the tensor has.
  std::optional<std::size_t> after(std::size_t i, int type) const {
    std::optional<std::size_t> next = only_reader(i);
    while (next && (is(*next, "Identity") || casts_to(*next, type))) next = only_reader(*next);
    return next;
  }

  bool casts_to(std::size_t i, int type) const {
    if (!is(i, "Cast")) return false;
    const auto to =
        if_readable([&] { return NodeAttributes(reader(i), {"to"}).integer("to", -1); });
    return to == type;
  }

  std::optional<std::size_t> after(std::size_t i, std::string_view op_type, int type) const {
    const auto next = after(i, type);
    return next && is(*next, op_type) ? next : std::nullopt;
  }

  bool drop_inner_pair(std::size_t first) {
    const auto outer = given_quantization(reader(first));
    if (!outer || reader(first).is_constant(0)) return false;
    const int levels =
        outer->dtype == DType::kUint8 ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
    const auto dequantize = after(first, "DequantizeLinear", levels);
    if (!dequantize || given_quantization(reader(*dequantize)) != outer) return false;
    const auto quantize = after(*dequantize, "QuantizeLinear", onnx::TensorProto::FLOAT);
    if (!quantize) return false;
    const auto inner = given_quantization(reader(*quantize));
    const auto last = after(*quantize, "DequantizeLinear", levels);
    if (!inner || inner->dtype != outer->dtype || !last ||
        given_quantization(reader(*last)) != inner) {
      return false;
    }
    const auto both = *inner == *outer ? outer : joined(*outer, *inner);
    if (!both) return false;
    set_quantization(first, *both);
    set_quantization(*last, *both);
    read_instead(*last, first, nodes_[first].proto->output(0));
    return true;
  }

  // Pads of 0 that a MaxPool's kernel is larger than (PadFusion in core/optimizer/pad_fusion.cc).
  void fuse_pad(std::size_t i) {
    const auto pool = only_reader(i);
    const auto amounts = if_readable([&] { return zero_pads(reader(i)); });
    if (!pool || !is(*pool, "MaxPool") || !amounts || amounts->empty()) return;
    const auto pads = if_readable([&] { return pads_with(reader(*pool), *amounts); });
    if (!pads || pads->empty()) return;
    onnx::NodeProto& made = changed(*pool);
    for (int k = made.attribute_size() - 1; k >= 0; --k) {
      if (made.attribute(k).name() == "pads") made.mutable_attribute()->DeleteSubrange(k, 1);
    }
    onnx::AttributeProto& attribute = *made.add_attribute();
    attribute.set_name("pads");
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t pad : *pads) attribute.add_ints(pad);
    read_instead(*pool, i, nodes_[i].proto->input(0));
    gone_[i] = true;
  }

  // Top, left, bottom, right of a Pad by zeros around height and width; empty for any other.
  std::vector<std::int64_t> zero_pads(const NodeReader& pad) const {
    const bool has_inputs = has_pad_inputs(pad);
    const NodeAttributes attributes =
        has_inputs ? NodeAttributes(pad, {"mode"}) : NodeAttributes(pad, {"mode", "pads", "value"});
    if (pad.inputs() < 1 || pad.inputs() > (has_inputs ? 3 : 1) ||
        attributes.text("mode", "constant") != "constant") {
      return {};
    }
    if (pad.has_input(2)) {
      const Tensor fill = pad.constant(2, "constant_value");
      if (std::ranges::count(fill.bytes, std::byte{0}) != std::ssize(fill.bytes)) return {};
    } else if (!has_inputs && attributes.real("value", 0.0F) != 0.0F) {
      return {};
    }
    const std::vector<std::int64_t> p =
        has_inputs ? pad.int64s(1, "pads")
                   : attributes.integers("pads").value_or(std::vector<std::int64_t>{});
    const bool fits = p.size() == 8 && p[0] == 0 && p[1] == 0 && p[4] == 0 && p[5] == 0 &&
                      std::ranges::all_of(p, [](std::int64_t amount) { return amount >= 0; });
    return fits ? std::vector<std::int64_t>{p[2], p[3], p[6], p[7]} : std::vector<std::int64_t>{};
  }

  // The pads of a MaxPool and those; empty where the kernel is not larger, or the pool chooses its
  // pads itself.
  std::vector<std::int64_t> pads_with(const NodeReader& pool,
                                      const std::vector<std::int64_t>& more) const {
    const NodeAttributes attributes(pool, {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                           "pads", "storage_order", "strides"});
    const auto kernel = attributes.integers("kernel_shape", 2);
    std::vector<std::int64_t> pads =
        attributes.integers("pads", 4).value_or(std::vector<std::int64_t>(4, 0));
    // With ceil_mode the sum of the pads may give other sizes than the file declares.
    if (!kernel || attributes.text("auto_pad", "NOTSET") != "NOTSET" ||
        attributes.integer("ceil_mode", 0) != 0) {
      return {};
    }
    for (std::size_t side = 0; side < pads.size(); ++side) {
      const std::int64_t size = (*kernel)[side % 2];
      if (pads[side] < 0 || pads[side] >= size || more[side] >= size - pads[side]) return {};
      pads[side] += more[side];
    }
    return pads;
  }

  // ClipQuantFusion in core/optimizer/qdq_transformer/clip_quantizelinear.cc: it compares real
  // numbers with a tolerance that is not relative to the scale.
  void drop_clip(std::size_t i) {
    auto next = after(i, onnx::TensorProto::FLOAT);
    bool cuts_at_zero = false;
    while (next && is(*next, "Relu")) {
      cuts_at_zero = true;
      next = after(*next, onnx::TensorProto::FLOAT);
    }
    if (!next || !is(*next, "QuantizeLinear")) return;
    const NodeReader quantize = reader(*next);
    const auto output = given_quantization(quantize);
    const auto bounds = if_readable([&] { return read_clip(reader(i)); });
    if (!output || !bounds || !is_scalar(quantize, 1) || !is_scalar(quantize, 2)) return;
    if (cuts_at_zero && output->zero_point != output->min()) return;  // the Relu stays
    const auto real = [&](std::int32_t level) {
      return output->scale.real() * static_cast<float>(level - output->zero_point);
    };
    // One that cuts no level off is a layer that changes nothing, in the session and here.
    if (bounds->low <= real(output->min()) && bounds->high >= real(output->max())) return;
    constexpr float kTolerance = std::numeric_limits<float>::epsilon();
    if (bounds->low - real(output->min()) > kTolerance) return;
    if (real(output->max()) - bounds->high > kTolerance) return;
    const std::size_t reads = readers_.at(nodes_[i].proto->output(0));
    read_instead(reads, i, nodes_[i].proto->input(0));
    gone_[i] = true;
  }

  static bool is_scalar(const NodeReader& node, int index) {
    return node.model().constant(node.input(index))->dims_size() == 0;
  }

  onnx::NodeProto& changed(std::size_t i) {
    if (const auto found = changed_.find(i); found != changed_.end()) return *found->second;
    onnx::NodeProto& made = model_.made_nodes.emplace_back(*nodes_[i].proto);
    nodes_[i].proto = &made;
    changed_[i] = &made;
    return made;
  }

  void set_quantization(std::size_t i, const Quantization& quantization) {
    std::string name = nodes_[i].proto->output(0) + "/joined";
    const auto is_taken = [&](const std::string& tensor) {
      return model_.constant(tensor) != nullptr || readers_.contains(tensor);
    };
    while (is_taken(name + "_scale") || is_taken(name + "_zero_point")) name += '\'';
    onnx::TensorProto scale;
    scale.set_data_type(onnx::TensorProto::FLOAT);
    scale.add_float_data(quantization.scale.real());
    onnx::TensorProto zero_point;
    zero_point.set_data_type(quantization.dtype == DType::kUint8 ? onnx::TensorProto::UINT8
                                                                 : onnx::TensorProto::INT8);
    zero_point.add_int32_data(quantization.zero_point);
    model_.add_constant(name + "_scale", std::move(scale));
    model_.add_constant(name + "_zero_point", std::move(zero_point));
    changed(i).set_input(1, name + "_scale");
    changed(i).set_input(2, name + "_zero_point");
  }

  // Node `i` reads `tensor`; the nodes between `first` and it fall away.
  void read_instead(std::size_t i, std::size_t first, const std::string& tensor) {
    for (std::size_t at = readers_.at(nodes_[first].proto->output(0)); at != i;
         at = readers_.at(nodes_[at].proto->output(0))) {
      gone_[at] = true;
    }
    changed(i).set_input(0, tensor);
    readers_[tensor] = i;
  }

  void commit() {
    std::map<int, const ModelNode*> kept;  // by index in the file
    std::set<int> gone;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (gone_[i]) gone.insert(nodes_[i].index);
      if (!gone_[i]) kept[nodes_[i].index] = &nodes_[i];
    }
    std::erase_if(model_.nodes, [&](const ModelNode& node) { return gone.contains(node.index); });
    model_.reads.clear();
    for (ModelNode& node : model_.nodes) {
      if (const auto found = kept.find(node.index); found != kept.end()) node = *found->second;
      for (const std::string& input : reads_of(*node.proto)) ++model_.reads[input];
    }
    std::vector<ModelNode> left;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!gone_[i]) left.push_back(nodes_[i]);
    }
    nodes_ = std::move(left);
  }

  ModelGraph& model_;
  std::vector<ModelNode>& nodes_;
  std::vector<bool> gone_;
  std::map<std::string, std::size_t, std::less<>> readers_;  // the last one of each tensor
  std::map<std::size_t, onnx::NodeProto*> changed_;
};

}  // namespace

void rewrite_as_session(ModelGraph& model, std::vector<ModelNode>& nodes) {
  Rewriting(model, nodes).run();
}

}  // namespace qsim::formats
