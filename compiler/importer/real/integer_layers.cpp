#include "compiler/importer/real/integer_layers.h"

#include <algorithm>
#include <set>

#include "compiler/importer/quantization.h"
#include "compiler/importer/real/real_constants.h"

namespace qsim {
namespace {

constexpr const char* kPattern =
    "DynamicQuantizeLinear or QuantizeLinear before it, and after it Cast to float and Mul by the "
    "scales of input and weights";

// One a picture: ONNX Runtime's of one picture at a time.
constexpr DynamicRule kRule{.bits = 8, .symmetric = false, .per_picture = true};

// What makes the integers that a layer sums: of `reals`, by tensors of these names.
struct LevelSource {
  std::string reals;
  std::string scale;
  std::string zero_point;  // empty where it is absent
  InputRule rule;
};

std::string input_or_nothing(const onnx::NodeProto& node, int index) {
  return node.input_size() > index ? node.input(index) : std::string();
}

// A bound of a Clip of 8-bit integers; `absent` where it has none.
std::int32_t level_bound(const NodeReader& clip, int index, const std::string& name,
                         const Quantization& of, std::int32_t absent) {
  if (!clip.has_input(index)) return absent;
  const Tensor bound = clip.constant(index, name);
  if (bound.dtype != of.dtype || bound.elems() != 1) {
    clip.refuse(
        name + " is " + std::string(dtype_name(bound.dtype)) + " " + shape_text(bound.shape),
        "one number of " + std::string(dtype_name(of.dtype)));
  }
  return of.dtype == DType::kUint8 ? bound.as<std::uint8_t>()[0] : bound.as<std::int8_t>()[0];
}

class IntegerLayers {
 public:
  explicit IntegerLayers(ModelGraph& model) : model_(model) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      const onnx::NodeProto& node = *model.nodes[i].proto;
      for (const std::string& output : node.output()) writers_[output] = i;
      for (const std::string& input : std::set(node.input().begin(), node.input().end())) {
        readers_[input].push_back(i);
      }
    }
  }

  IntegerConstants run() && {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const std::string& op_type = model_.nodes[i].proto->op_type();
      if (op_type == "ConvInteger" || op_type == "MatMulInteger") make_layer(i);
    }
    if (made_.empty()) return {};
    // Only now: the nodes above refer to each other by number.
    for (const auto& [at, node] : made_) model_.nodes[at] = node;
    model_.nodes = nodes_in_order(model_);
    model_.reads.clear();
    for (const ModelNode& node : model_.nodes) {
      for (const std::string& input : node.proto->input()) ++model_.reads[input];
    }
    return std::move(integers_);
  }

 private:
  const onnx::NodeProto& node(std::size_t i) const { return *model_.nodes[i].proto; }

  // The node that writes input 0 of `of`; refuses a tensor that no node writes.
  std::size_t writer(const NodeReader& reader, std::size_t of) const {
    const auto found =
        node(of).input_size() > 0 ? writers_.find(node(of).input(0)) : writers_.end();
    if (found == writers_.end()) refuse_pattern(reader);
    return found->second;
  }

  LevelSource source_of(const NodeReader& reader, std::size_t at) const {
    const std::size_t before = writer(reader, at);
    const onnx::NodeProto& source = node(before);
    if (source.op_type() == "QuantizeLinear") return quantized(before);
    if (source.op_type() == "Clip") {
      const std::size_t quantize = writer(reader, before);
      if (node(quantize).op_type() == "QuantizeLinear") return clipped(quantize, before);
    }
    const bool is_dynamic = source.op_type() == "DynamicQuantizeLinear" &&
                            source.input_size() == 1 && source.output_size() == 3 &&
                            node(at).input(0) == source.output(0);
    if (!is_dynamic) refuse_pattern(reader);
    return {source.input(0), source.output(1), source.output(2), kRule};
  }

  LevelSource quantized(std::size_t at) const {
    const NodeReader reader(model_, model_.nodes[at]);
    const Quantization levels = read_quantize_linear(reader);
    return {reader.input(0), reader.input(1), input_or_nothing(node(at), 2),
            UniformRule{levels.scale.real(), levels.zero_point, levels.min(), levels.max()}};
  }

  // Of fewer levels than 8 bits have.
  LevelSource clipped(std::size_t quantize, std::size_t clip) const {
    LevelSource source = quantized(quantize);
    const Quantization levels = read_quantize_linear({model_, model_.nodes[quantize]});
    const NodeReader reader(model_, model_.nodes[clip]);
    reader.require_inputs(1, 3);
    const NodeAttributes none(reader, {});
    auto& rule = std::get<UniformRule>(source.rule);
    rule.lo = level_bound(reader, 1, "min", levels, levels.min());
    rule.hi = level_bound(reader, 2, "max", levels, levels.max());
    if (rule.lo > rule.hi) {
      reader.malformed("clip range " + std::to_string(rule.lo) + ".." + std::to_string(rule.hi),
                       "lo at most hi");
    }
    return source;
  }

  // The only node that reads the output of `of`, of that operator.
  std::size_t reader_of(const NodeReader& reader, std::size_t of, const char* op) const {
    const std::string& output = node(of).output(0);
    const auto found = readers_.find(output);
    const bool is_one =
        found != readers_.end() && found->second.size() == 1 && output != model_.output->name();
    if (!is_one || node(found->second[0]).op_type() != op) refuse_pattern(reader);
    return found->second[0];
  }

  [[noreturn]] static void refuse_pattern(const NodeReader& reader) {
    reader.refuse("integers among other nodes", kPattern);
  }

  // The other input of a Mul with two inputs.
  const std::string& other_input(const NodeReader& reader, std::size_t mul,
                                 const std::string& one) const {
    const onnx::NodeProto& own = node(mul);
    if (own.input_size() != 2 || (own.input(0) == one) == (own.input(1) == one))
      refuse_pattern(reader);
    return own.input(own.input(0) == one ? 1 : 0);
  }

  void make_layer(std::size_t at) {
    const NodeReader reader(model_, model_.nodes[at]);
    reader.require_inputs(2, 4);
    const LevelSource source = source_of(reader, at);
    if (input_or_nothing(node(at), 2) != source.zero_point) refuse_pattern(reader);
    const std::size_t cast = reader_of(reader, at, "Cast");
    const NodeReader cast_reader(model_, model_.nodes[cast]);
    NodeAttributes(cast_reader, {"to", "saturate"}).require_integer("to", onnx::TensorProto::FLOAT);
    const std::size_t scaled = reader_of(reader, cast, "Mul");
    const std::string& scales = other_input(reader, scaled, node(cast).output(0));
    const auto product = writers_.find(scales);
    if (product == writers_.end() || node(product->second).op_type() != "Mul")
      refuse_pattern(reader);
    const NodeReader product_reader(model_, model_.nodes[product->second]);
    const std::string& own = other_input(reader, product->second, source.scale);
    const int index = node(product->second).input(0) == own ? 0 : 1;
    add(reader, source, real_constant(product_reader, index, "scale of the weights"),
        node(scaled).output(0), scaled);
  }

  void add(const NodeReader& reader, const LevelSource& source, const Tensor& scales,
           const std::string& output, std::size_t at) {
    const bool is_conv = reader.op_type() == "ConvInteger";
    const Tensor levels = reader.constant(1, is_conv ? "w" : "B");
    std::optional<Tensor> zero_points;
    if (reader.has_input(3)) zero_points = reader.constant(3, "zero_point of the weights");
    // Several scales go along the channels: [.., M, 1, 1], or of a matrix [.., M].
    const std::int64_t rank = std::ssize(scales.shape);
    const std::int64_t channel_axis = rank - (is_conv ? 3 : 1);
    if (scales.elems() > 1 &&
        (channel_axis < 0 ||
         scales.shape[static_cast<std::size_t>(channel_axis)] != scales.elems())) {
      reader.refuse("scales of the weights of shape " + shape_text(scales.shape),
                    "one, or one for each output channel");
    }
    StoredIntegers integers = stored_integers(reader, levels, scales, zero_points, is_conv ? 0 : 1);
    integers.input = source.rule;
    const std::string name = reader.layer_name() + "/integer weights of " + reader.input(1);
    const Tensor reals = real_numbers(integers);
    onnx::TensorProto proto;
    proto.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : reals.shape) proto.add_dims(dim);
    proto.set_raw_data(reals.bytes.data(), reals.bytes.size());
    model_.add_constant(name, std::move(proto));
    integers_.emplace(name, std::move(integers));
    onnx::NodeProto& made = model_.made_nodes.emplace_back(*reader.node().proto);
    made.set_op_type(is_conv ? "Conv" : "MatMul");
    made.clear_input();
    made.add_input(source.reals);
    made.add_input(name);
    made.set_output(0, output);
    made_.emplace(at, ModelNode{&made, reader.node().index});
  }

  ModelGraph& model_;
  std::map<std::string, std::size_t, std::less<>> writers_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> readers_;
  std::map<std::size_t, ModelNode> made_;  // in place of nodes
  IntegerConstants integers_;
};

}  // namespace

IntegerConstants make_integer_layers(ModelGraph& model) { return IntegerLayers(model).run(); }

}  // namespace qsim
