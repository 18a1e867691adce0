#include "formats/onnx/importer/phase_convolutions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/isa/command_fields.h"
#include "formats/onnx/importer/part_rewrites.h"
#include "formats/onnx/importer/phase_geometry.h"

namespace qsim::formats {
namespace {

using onnx::NodeProto;

// Elementwise operators that may stay between a ConvTranspose and its QuantizeLinear.
constexpr std::array<std::string_view, 3> kBetween = {"Relu", "Clip", "Identity"};

struct Phased : PhasedConvolution {
  std::size_t node = 0;  // in ModelGraph::nodes
};

// Reshape, Transpose, Reshape.
struct Transposition {
  Integers split;
  Integers order;
  Integers joined;
};

void add_integers(NodeProto& node, const std::string& name, const Integers& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

Tensor int64s_of(const Integers& values) {
  Tensor tensor(DType::kInt64, {std::ssize(values)});
  std::ranges::copy(values, tensor.as<std::int64_t>().begin());
  return tensor;
}

class PhaseRewriting {
 public:
  PhaseRewriting(ModelGraph& model, const HostNetwork& network) : model_(model) {
    for (const HostValue& value : network.values) values_[value.name] = &value.array;
    const onnx::GraphProto& graph = model.file->proto.graph();
    next_index_ = graph.node_size() + graph.output_size();  // a host's own casts are below
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      const NodeProto& node = *model.nodes[i].proto;
      next_index_ = std::max(next_index_, model.nodes[i].index + 1);
      for (const std::string& output : node.output()) makers_[output] = i;
      if (node.input_size() > 0) readers_[node.input(0)] = i;
    }
    before_.resize(model.nodes.size());
    after_.resize(model.nodes.size());
  }

  PhaseConvolutions run(const std::set<int>& wanted) && {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      if (!wanted.contains(model_.nodes[i].index)) continue;
      const std::string& op = node(i).op_type();
      const std::string& domain = node(i).domain();
      const bool is_known = (op == "Conv" || op == "QLinearConv" || op == "ConvTranspose") &&
                            model_.opset >= 11 && (domain.empty() || domain == "ai.onnx");
      if (is_known && rewrite(i)) done_.convolutions.insert(model_.nodes[i].index);
    }
    if (!done_.convolutions.empty()) commit();
    return std::move(done_);
  }

 private:
  const NodeProto& node(std::size_t i) const { return *model_.nodes[i].proto; }

  NodeProto& change(std::size_t i) {
    NodeProto& made = model_.made_nodes.emplace_back(node(i));
    model_.nodes[i].proto = &made;
    return made;
  }

  const Tensor* constant(const std::string& name) const {
    const auto found = values_.find(name);
    const bool is_known = found != values_.end() && found->second->has_values();
    return is_known ? &found->second->tensor : nullptr;
  }

  const Shape* shape(const std::string& name) const {
    const auto found = values_.find(name);
    const bool is_known = found != values_.end() && found->second->has_shape();
    return is_known ? &found->second->tensor.shape : nullptr;
  }

  // The DequantizeLinear that writes a tensor.
  const NodeProto* dequantize(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    if (found == makers_.end()) return nullptr;
    const NodeProto& maker = node(found->second);
    const bool is_plain = maker.op_type() == "DequantizeLinear" && maker.input_size() >= 2 &&
                          integer_of(maker, "block_size", 0) == 0;
    return is_plain ? &maker : nullptr;
  }

  // A tensor's one reader, which reads it as input 0.
  std::optional<std::size_t> only_reader(const std::string& tensor) const {
    const auto found = readers_.find(tensor);
    const bool is_one =
        found != readers_.end() && model_.reads_of(tensor) == 1 && !model_.is_output(tensor);
    return is_one ? std::optional(found->second) : std::nullopt;
  }

  bool is_number(const std::string& name) const {
    const Tensor* const tensor = constant(name);
    return tensor != nullptr && tensor->elems() == 1;
  }

  bool are_constant(const NodeProto& node) const {
    return std::ranges::all_of(node.input(), [&](const std::string& name) {
      return name.empty() || constant(name) != nullptr;
    });
  }

  static std::string optional_input(const NodeProto& node, int index) {
    return index < node.input_size() ? node.input(index) : std::string();
  }

  // ---- What there is.

  bool rewrite(std::size_t i) {
    const NodeProto& conv = node(i);
    if (conv.op_type() == "QLinearConv") return conv.input_size() >= 8 && cut_input(i);
    if (conv.input_size() < 2 || dequantize(conv.input(0)) == nullptr) return false;
    return conv.op_type() == "Conv" ? cut_input(i) : spread_output(i);
  }

  std::optional<Phased> read(std::size_t i, const std::string& input, const Tensor& weights) const {
    const Shape* const x = shape(input);
    const Shape* const y = shape(node(i).output(0));
    if (x == nullptr || y == nullptr) return std::nullopt;
    const std::optional<PhasedConvolution> found = read_phased(node(i), *x, *y, weights);
    return found ? std::optional(Phased{*found, i}) : std::nullopt;
  }

  // Scales of weights are one, or one an output channel.
  bool fits(const Phased& conv, const NodeProto& weights) const {
    const Tensor* const scales = constant(weights.input(1));
    if (scales == nullptr) return false;
    if (scales->elems() == 1) return true;
    const std::int64_t rank = 2 + static_cast<std::int64_t>(conv.rank);
    const std::int64_t axis = integer_of(weights, "axis", 1);
    return (axis < 0 ? axis + rank : axis) == (conv.is_transposed ? 1 : 0);
  }

  // ---- A Conv: phases of its input.

  bool cut_input(std::size_t i) {
    const NodeProto& conv = node(i);
    const bool is_levels = conv.op_type() == "QLinearConv";
    const NodeProto* const x = is_levels ? nullptr : dequantize(conv.input(0));
    const NodeProto* const w = is_levels ? nullptr : dequantize(conv.input(1));
    if (!is_levels && (w == nullptr || !is_number(x->input(1)))) return false;
    const std::string levels = is_levels ? conv.input(0) : x->input(0);
    const std::string zero = is_levels ? conv.input(2) : optional_input(*x, 2);
    const Tensor* const zero_point = constant(zero);
    const Tensor* const weights = constant(is_levels ? conv.input(3) : w->input(0));
    const std::string weight_zero = is_levels ? conv.input(5) : optional_input(*w, 2);
    const Tensor* const absent = constant(weight_zero);
    if (weights == nullptr || (absent == nullptr && !weight_zero.empty()) ||
        (zero_point == nullptr ? !zero.empty() : zero_point->elems() != 1)) {
      return false;
    }
    const std::optional<Phased> phased = read(i, levels, *weights);
    if (!phased || !is_beyond(*phased) || (!is_levels && !fits(*phased, *w))) return false;
    const std::string moved = name_of(*phased, "input_levels");
    const DType dtype = values_.at(levels)->tensor.dtype;
    add_moves_of_input(*phased, levels, moved,
                       zero_point == nullptr ? Tensor(dtype, {}) : *zero_point);
    NodeProto& made = change(i);
    const Tensor by_phase = phase_weights(*phased, *weights, absent);
    if (is_levels) {
      made.set_input(0, moved);
      made.set_input(3, add_constant(*phased, "weights", by_phase));
    } else {
      made.set_input(0, add_dequantize(*phased, *x, "input", moved));
      made.set_input(1, add_dequantize(*phased, *w, "weights",
                                       add_constant(*phased, "weight_levels", by_phase)));
    }
    set_window(made, *phased, Integers(2 * phased->rank, 0));
    return true;
  }

  static bool is_beyond(const Phased& conv) {
    constexpr std::int64_t kMostStride = max_of<Execute>("stride_h");
    constexpr std::int64_t kMostExtent = max_of<Execute>("origin_row");
    static_assert(kMostStride == max_of<Execute>("stride_w") &&
                  kMostExtent == max_of<Execute>("origin_col"));
    return std::ranges::any_of(conv.axes, [](const PhaseAxis& axis) {
      return axis.stride > kMostStride ||
             (axis.stride > 1 && axis.extent() + axis.pad > kMostExtent);
    });
  }

  void add_moves_of_input(const Phased& conv, const std::string& levels, const std::string& moved,
                          Tensor zero_point) {
    Integers begins = {0, 0};
    Integers ends = {0, 0};
    for (const PhaseAxis& axis : conv.own_axes()) {
      begins.push_back(axis.pad);
      ends.push_back((axis.out + axis.reach()) * axis.stride - axis.pad - axis.in);
    }
    std::string padded = levels;
    begins.insert(begins.end(), ends.begin(), ends.end());
    if (std::ranges::any_of(begins, [](std::int64_t pad) { return pad != 0; })) {
      padded = model_.unused_name(moved + "_padded");
      zero_point.shape = {};
      add_move(conv, "Pad",
               {levels, add_constant(conv, "pads", int64s_of(begins)),
                add_constant(conv, "pad_level", zero_point)},
               padded);
    }
    if (conv.has_phases_outside()) {
      add_integer(add_move(conv, "SpaceToDepth", {padded}, moved), "blocksize",
                  conv.axes[0].stride);
      return;
    }
    const std::int64_t channels = conv.groups * conv.in_channels;
    Transposition move = {{0, channels}, {0, 1}, {0, channels * conv.phases()}};
    const auto rank = static_cast<std::int64_t>(conv.rank);
    for (const PhaseAxis& axis : conv.own_axes()) {
      move.split.insert(move.split.end(), {axis.out + axis.reach(), axis.stride});
      move.joined.push_back(axis.out + axis.reach());
    }
    for (std::int64_t d = 0; d < rank; ++d) move.order.push_back(3 + 2 * d);
    for (std::int64_t d = 0; d < rank; ++d) move.order.push_back(2 + 2 * d);
    add_transpose(conv, padded, move, moved);
  }

  // ---- A ConvTranspose: phases of its output.

  bool spread_output(std::size_t i) {
    const NodeProto& conv = node(i);
    const NodeProto* const w = dequantize(conv.input(1));
    const Tensor* const weights = w == nullptr ? nullptr : constant(w->input(0));
    const std::optional<std::size_t> quantize = quantize_after(conv.output(0));
    if (weights == nullptr || !quantize) return false;
    const std::string weight_zero = optional_input(*w, 2);
    const Tensor* const absent = constant(weight_zero);
    const std::optional<Phased> phased = read(i, conv.input(0), *weights);
    if (!phased || !fits(*phased, *w) || (absent == nullptr && !weight_zero.empty())) return false;
    const std::string bias = optional_input(conv, 2);
    const NodeProto* const bias_levels = dequantize(bias);
    const Tensor* const biases = constant(bias_levels == nullptr ? bias : bias_levels->input(0));
    const std::int64_t channels = phased->groups * phased->out_channels;
    if (!bias.empty() && (biases == nullptr || biases->shape != Shape{channels})) return false;
    if (bias_levels != nullptr && !are_constant(*bias_levels)) return false;

    const PhaseSpread spread = spread_of(*phased);
    NodeProto& made = change(i);
    made.set_op_type("Conv");
    made.set_name(layer_name(model_.nodes[i]));
    made.set_input(1, add_dequantize(*phased, *w, "weights",
                                     add_constant(*phased, "weight_levels",
                                                  phase_weights(*phased, *weights, absent))));
    if (bias_levels != nullptr) {
      made.set_input(2,
                     add_dequantize(*phased, *bias_levels, "bias",
                                    add_repeated(*phased, "bias_levels", bias_levels->input(0))));
    } else if (!bias.empty()) {
      made.set_input(2, add_repeated(*phased, "bias", bias));
    }
    set_window(made, *phased, spread.pads);
    if (phased->phases() == 1 && !spread.is_cut) return true;
    NodeProto& last = change(*quantize);
    const std::string result = last.output(0);
    const std::string by_phase = model_.unused_name(result + "_by_phase");
    last.set_output(0, by_phase);
    add_moves_of_output(*phased, spread, by_phase, result);
    return true;
  }

  // The QuantizeLinear of one scale after a layer, or the Clip of its levels that follows.
  std::optional<std::size_t> quantize_after(const std::string& output) const {
    std::optional<std::size_t> next = only_reader(output);
    while (next && std::ranges::find(kBetween, node(*next).op_type()) != kBetween.end()) {
      if (!reads_numbers(*next)) return std::nullopt;
      next = only_reader(node(*next).output(0));
    }
    if (!next || node(*next).op_type() != "QuantizeLinear" || !reads_numbers(*next)) {
      return std::nullopt;
    }
    const auto after = only_reader(node(*next).output(0));
    return after && node(*after).op_type() == "Clip" && reads_numbers(*after) ? after : next;
  }

  // Whether each input but the first is one number.
  bool reads_numbers(std::size_t i) const {
    const NodeProto& reader = node(i);
    for (int k = 1; k < reader.input_size(); ++k) {
      if (!reader.input(k).empty() && !is_number(reader.input(k))) return false;
    }
    return true;
  }

  void add_moves_of_output(const Phased& conv, const PhaseSpread& spread,
                           const std::string& by_phase, const std::string& result) {
    if (conv.phases() == 1) return add_slice(conv, by_phase, spread.starts, result);
    const std::string whole = spread.is_cut ? model_.unused_name(by_phase + "_whole") : result;
    if (conv.is_square()) {
      NodeProto& move = add_move(conv, "DepthToSpace", {by_phase}, whole);
      add_integer(move, "blocksize", conv.axes[0].stride);
      onnx::AttributeProto& mode = *move.add_attribute();
      mode.set_name("mode");
      mode.set_type(onnx::AttributeProto::STRING);
      mode.set_s("CRD");
    } else {
      const std::int64_t channels = conv.groups * conv.out_channels;
      Transposition move = {{0, channels}, {0, 1}, {0, channels}};
      const auto rank = static_cast<std::int64_t>(conv.rank);
      for (const PhaseAxis& axis : conv.own_axes()) move.split.push_back(axis.stride);
      for (std::int64_t d = 0; d < rank; ++d) {
        const auto at = static_cast<std::size_t>(d);
        move.split.push_back(spread.positions[at]);
        move.joined.push_back(spread.positions[at] * conv.own_axes()[at].stride);
        move.order.insert(move.order.end(), {2 + rank + d, 2 + d});
      }
      add_transpose(conv, by_phase, move, whole);
    }
    if (spread.is_cut) add_slice(conv, whole, spread.starts, result);
  }

  void add_slice(const Phased& conv, const std::string& input, const Integers& starts,
                 const std::string& output) {
    Integers ends;
    Integers axes;
    for (std::size_t d = 0; d < conv.rank; ++d) {
      ends.push_back(starts[d] + conv.own_axes()[d].out);
      axes.push_back(2 + static_cast<std::int64_t>(d));
    }
    add_move(
        conv, "Slice",
        {input, add_constant(conv, "starts", int64s_of(starts)),
         add_constant(conv, "ends", int64s_of(ends)), add_constant(conv, "axes", int64s_of(axes))},
        output);
  }

  // ---- What is made.

  void add_transpose(const Phased& conv, const std::string& input, const Transposition& move,
                     const std::string& output) {
    const std::string split = model_.unused_name(output + "_split");
    const std::string transposed = model_.unused_name(output + "_transposed");
    add_move(conv, "Reshape", {input, add_constant(conv, "split", int64s_of(move.split))}, split);
    add_integers(add_move(conv, "Transpose", {split}, transposed), "perm", move.order);
    add_move(conv, "Reshape", {transposed, add_constant(conv, "joined", int64s_of(move.joined))},
             output);
  }

  NodeProto& add_move(const Phased& conv, const std::string& op,
                      const std::vector<std::string>& inputs, const std::string& output) {
    const std::string name = layer_name(model_.nodes[conv.node]);
    NodeProto& made = model_.made_nodes.emplace_back();
    made.set_op_type(op);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    std::vector<ModelNode>& place = (conv.is_transposed ? after_ : before_)[conv.node];
    const bool is_second = std::ranges::any_of(
        place, [&](const ModelNode& other) { return other.proto->op_type() == op; });
    made.set_name(name + "/" + op + (is_second ? "_back" : ""));
    place.push_back({&made, next_index_});
    done_.moves[next_index_++] = "it moves levels for '" + name + "', which is the array's";
    return made;
  }

  // The DequantizeLinear `like` of other levels, with the number of the convolution.
  std::string add_dequantize(const Phased& conv, const NodeProto& like, const std::string& what,
                             const std::string& levels) {
    NodeProto& made = model_.made_nodes.emplace_back(like);
    made.set_input(0, levels);
    made.set_output(0, name_of(conv, what));
    before_[conv.node].push_back({&made, model_.nodes[conv.node].index});
    if (!conv.is_transposed || constant(like.input(1))->elems() == 1) return made.output(0);
    for (int k = 1; k < like.input_size(); ++k) {
      if (like.input(k).empty()) continue;
      const std::string suffix = k == 1 ? "_scale" : "_zero_point";
      made.set_input(k, add_repeated(conv, what + suffix, like.input(k)));
    }
    for (int a = made.attribute_size(); a-- > 0;) {
      if (made.attribute(a).name() == "axis") made.mutable_attribute()->DeleteSubrange(a, 1);
    }
    add_integer(made, "axis", 0);
    return made.output(0);
  }

  // Numbers by output channel, or by that of a group, become numbers by output channel and phase.
  std::string add_repeated(const Phased& conv, const std::string& what, const std::string& name) {
    const Tensor& from = *constant(name);
    const std::int64_t channels = conv.groups * conv.out_channels * conv.phases();
    Tensor made(from.dtype, {channels});
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(from.dtype));
    for (std::int64_t i = 0; i < channels; ++i) {
      std::copy_n(from.bytes.data() + i / conv.phases() % from.elems() * bytes, bytes,
                  made.bytes.data() + i * bytes);
    }
    return add_constant(conv, what, made);
  }

  std::string name_of(const Phased& conv, const std::string& what) const {
    return model_.unused_name(node(conv.node).output(0) + "_" + what + "_by_phase");
  }

  std::string add_constant(const Phased& conv, const std::string& what, const Tensor& tensor) {
    const std::string name = name_of(conv, what);
    model_.add_constant(name, proto_of(tensor));
    return name;
  }

  static void set_window(NodeProto& made, const Phased& conv, const Integers& pads) {
    Integers kernel;
    Integers dilations;
    for (const PhaseAxis& axis : conv.own_axes()) {
      kernel.push_back(axis.taps());
      dilations.push_back(axis.step());
    }
    made.clear_attribute();
    add_integer(made, "group", conv.groups);
    add_integers(made, "kernel_shape", kernel);
    add_integers(made, "dilations", dilations);
    add_integers(made, "pads", pads);
  }

  void commit() {
    std::vector<ModelNode> nodes;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      nodes.insert(nodes.end(), before_[i].begin(), before_[i].end());
      nodes.push_back(model_.nodes[i]);
      nodes.insert(nodes.end(), after_[i].begin(), after_[i].end());
    }
    model_.nodes = std::move(nodes);
    model_.reads.clear();
    for (const ModelNode& node : model_.nodes) {
      for (const std::string& input : reads_of(*node.proto)) ++model_.reads[input];
    }
  }

  ModelGraph& model_;
  std::map<std::string, const HostArray*, std::less<>> values_;
  std::map<std::string, std::size_t, std::less<>> makers_;
  std::map<std::string, std::size_t, std::less<>> readers_;  // as input 0; the last one
  std::vector<std::vector<ModelNode>> before_;               // what comes before a node
  std::vector<std::vector<ModelNode>> after_;
  PhaseConvolutions done_;
  int next_index_ = 0;
};

}  // namespace

PhaseConvolutions rewrite_by_phases(ModelGraph& model, const HostNetwork& network,
                                    const std::set<int>& wanted) {
  return PhaseRewriting(model, network).run(wanted);
}

}  // namespace qsim::formats
