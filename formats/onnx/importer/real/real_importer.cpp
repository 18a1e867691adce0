#include "formats/onnx/importer/real_importer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "formats/files/memory.h"
#include "formats/onnx/importer/form_of_model.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/node_import.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/quantization.h"
#include "formats/onnx/importer/real/real_builder.h"
#include "formats/onnx/importer/real/real_constants.h"
#include "formats/onnx/importer/real/real_operators.h"
#include "formats/onnx/importer/real/stored_integers.h"
#include "formats/onnx/importer/shape_rules.h"
#include "formats/onnx/importer/weight_bytes.h"

namespace qsim::formats {
namespace {

// Layers that sum integers among float32 ones: the nodes of dynamic quantization, as ONNX Runtime's
// quantize_dynamic writes them (a layer finds the range of what it reads while it runs), and the
// same nodes with a QuantizeLinear, whose scale is a constant.

using IntegerConstants = std::map<std::string, StoredIntegers, std::less<>>;

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

// Each DynamicQuantizeLinear (or QuantizeLinear, then a Clip or none), ConvInteger (MatMulInteger),
// Cast, Mul by both scales becomes one Conv (MatMul) of float numbers, called after the
// ConvInteger. Its weights are a new constant, which the result names: the integers that it stands
// for, with the rule of the input. Throws Error (exit code 4) for a ConvInteger (MatMulInteger)
// among other nodes than these. The graph's ends are known.
IntegerConstants make_integer_layers(ModelGraph& model) { return IntegerLayers(model).run(); }

// Nodes that make a layer's weights of constants, whatever their size: a matrix with its axes
// exchanged, as exporters leave it before MatMul and Gemm, and parts of a tensor joined along axis
// 0; and integers that a DequantizeLinear makes real.

bool is_real_constant(const NodeReader& node, int index) {
  return node.is_constant(index) &&
         node.model().constant(node.input(index))->data_type() == onnx::TensorProto::FLOAT;
}

void add_constant(ModelGraph& model, const NodeReader& node, const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  model.add_constant(node.output(), std::move(proto));
}

bool fold_transpose(ModelGraph& model, const NodeReader& node) {
  if (node.inputs() != 1 || !is_real_constant(node, 0)) return false;
  if (model.constant(node.input(0))->dims_size() != 2) return false;
  if (read_permutation(node, 2) != Permutation{1, 0}) return false;
  add_constant(model, node, turned(node.constant(0, "data")));
  return true;
}

bool fold_concat(ModelGraph& model, const NodeReader& node) {
  for (int index = 0; index < node.inputs(); ++index) {
    if (!is_real_constant(node, index)) return false;
  }
  if (node.inputs() == 0 || NodeAttributes(node, {"axis"}).integer("axis", -1) != 0) return false;
  Tensor joined = node.constant(0, "inputs");
  if (joined.shape.empty()) return false;
  for (int index = 1; index < node.inputs(); ++index) {
    const Tensor part = node.constant(index, "inputs");
    Shape same = part.shape;
    if (!same.empty()) same[0] = joined.shape[0];
    if (same != joined.shape) {
      node.malformed("joins " + shape_text(joined.shape) + " and " + shape_text(part.shape),
                     "tensors that differ in axis 0 alone");
    }
    joined.shape[0] += part.shape[0];
    joined.bytes.insert(joined.bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  add_constant(model, node, joined);
  return true;
}

bool fold_integers(ModelGraph& model, const NodeReader& node, RealBuilder& graph) {
  if (!node.has_input(0) || !node.is_constant(0)) return false;
  node.require_inputs(2, 3);
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", 1);
  std::optional<Tensor> zero_points;
  if (node.has_input(2)) zero_points = node.constant(2, "x_zero_point");
  StoredIntegers integers = stored_integers(node, node.constant(0, "x"),
                                            real_constant(node, 1, "x_scale"), zero_points, axis);
  add_constant(model, node, real_numbers(integers));
  graph.set_integers(node.output(), std::move(integers));
  return true;
}

// Adds the output to model's constants, and integers to the graph's. False for any other node.
bool fold_weights(ModelGraph& model, const NodeReader& node, RealBuilder& graph) {
  if (node.op_type() == "DequantizeLinear") return fold_integers(model, node, graph);
  if (node.op_type() == "Transpose") return fold_transpose(model, node);
  return node.op_type() == "Concat" && fold_concat(model, node);
}

std::optional<Shape> shape_of_input(const NodeReader& node, const RealBuilder& graph) {
  const RealTensor* found = graph.find(node, 0);
  if (found == nullptr || !found->tail.is_empty()) return std::nullopt;
  return onnx_shape(graph.shape(*found), found->axes);
}

// `graph` is null where nothing is imported.
NodeRules rules_of(ModelGraph& model, RealBuilder* graph) {
  NodeRules rules;
  rules.find = [&model, graph](const onnx::NodeProto& node) -> NodeRules::Operator {
    const ImportRealOperator import = find_real_operator(node);
    if (import == nullptr) return nullptr;
    return [import, &model, graph](const NodeReader& reader) {
      if (!fold_weights(model, reader, *graph)) import(reader, *graph);
    };
  };
  rules.shape_of = [graph](const NodeReader& node) { return shape_of_input(node, *graph); };
  rules.page = "docs/reference/onnx.md";
  rules.ignores_unread_outputs = true;
  return rules;
}

void refuse_quantized(const ModelGraph& model) {
  const ModelNode* node = first_quantized(model.nodes);
  if (node == nullptr) return;
  throw_unsupported(node_location(model, *node) +
                    ": the model is quantized already; supported: a float model");
}

HybridNetwork network_of(const ModelFile& file, ModelGraph& model, std::int64_t batch) {
  try {
    find_ends(file, model);
  } catch (const Error& error) {
    throw Error(error.code(), error.what(),
                NodeImport(model, rules_of(model, nullptr)).unknown_operators());
  }
  IntegerConstants integers = make_integer_layers(model);
  const std::vector<ModelNode> nodes = nodes_in_order(model);
  // Integers become float32 and int16.
  require_memory(weight_bytes(model, nodes, true) + 6 * weight_bytes(model, nodes), model.source);
  RealBuilder builder(model, batch);
  for (auto& [name, each] : integers) builder.set_integers(name, std::move(each));
  NodeImport import(model, rules_of(model, &builder));
  for (const ModelNode& node : nodes) import.add(node);
  import.throw_refusals();
  HybridNetwork network = std::move(builder).finish();
  validate(network.graph);
  return network;
}

HybridNetwork import_network(const std::shared_ptr<const HeldFile>& held,
                             const RealImportOptions& options, bool may_be_quantized) {
  if (options.batch < 1) {
    throw_bad_input("batch " + std::to_string(options.batch) + "; expected 1 or more");
  }
  const std::unique_ptr<const ModelFile> file = read_model_file(held, options.on_external);
  ModelGraph model = read_model_graph(*file);
  HybridNetwork network = with_place(model.source, [&] {
    if (!may_be_quantized) refuse_quantized(model);
    return network_of(*file, model, options.batch);
  });
  held->require_unchanged();
  return network;
}

}  // namespace

void import_dequantized_constant(const NodeReader& node, RealBuilder& /*graph*/) {
  node.refuse("dequantizes what the graph computes", "integer constants");
}

Graph import_real_onnx(const std::shared_ptr<const HeldFile>& held,
                       const RealImportOptions& options) {
  return import_network(held, options, false).graph;
}

HybridNetwork import_hybrid_onnx(const std::shared_ptr<const HeldFile>& held,
                                 const RealImportOptions& options) {
  return import_network(held, options, true);
}

bool is_hybrid_onnx(const std::shared_ptr<const HeldFile>& held) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held);
  const ModelGraph model = read_model_graph(*file);
  return first_hybrid(model, model.nodes) != nullptr;
}

bool is_float_onnx(const std::shared_ptr<const HeldFile>& held) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held);
  return first_quantized(read_model_graph(*file).nodes) == nullptr;
}

}  // namespace qsim::formats
