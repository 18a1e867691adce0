#include "formats/onnx/importer/model_graph.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::formats {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

// The domains that the model imports, and their versions; "" is ONNX's own.
using Domains = std::map<std::string, std::int64_t, std::less<>>;

Domains read_domains(const onnx::ModelProto& model, const std::string& source) {
  Domains domains;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    const std::string& domain = import.domain();
    const auto [found, is_new] =
        domains.try_emplace(is_default_domain(domain) ? "" : domain, import.version());
    if (is_new || found->second == import.version()) continue;
    throw_bad_input(source + ": two opset_import of domain '" + echoed(domain) + "', " +
                    std::to_string(found->second) + " and " + std::to_string(import.version()) +
                    "; expected one");
  }
  return domains;
}

int read_opset(const onnx::ModelProto& model, const std::string& source) {
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (!is_default_domain(import.domain())) continue;
    if (import.version() < kMinOpset || import.version() > kMaxOpset) {
      throw_unsupported(source + ": opset " + std::to_string(import.version()) + "; supported: " +
                        std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset));
    }
    return static_cast<int>(import.version());
  }
  throw_unsupported(source + ": no opset_import of the ONNX operators; supported: opset " +
                    std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset));
}

// Every domain of a node is imported in some version.
void check_domain(const Domains& domains, const NodeProto& node, const std::string& where) {
  if (is_default_domain(node.domain()) || domains.contains(node.domain())) return;
  throw_bad_input(where + ": domain '" + echoed(node.domain()) + "' is not imported; expected an " +
                  "opset_import of it");
}

void check_model(const onnx::ModelProto& model, const std::string& source) {
  for (const onnx::FunctionProto& function : model.functions()) {
    // Functions of the domain "qsim" define that domain's operators (docs/reference/onnx.md).
    if (function.domain() == "qsim") continue;
    throw_unsupported(source + ": local function '" + echoed(function.name()) +
                      "'; supported: nodes of standard operators");
  }
  if (model.graph().sparse_initializer_size() > 0) {
    throw_unsupported(source + ": sparse initializer; supported: dense initializers");
  }
}

// The value of a Constant node that holds plain numbers; an empty tensor type for anything else.
TensorProto number_tensor(const AttributeProto& attribute) {
  TensorProto tensor;
  if (attribute.name() == "value_float") {
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_float_data(attribute.f());
  } else if (attribute.name() == "value_floats") {
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
  } else if (attribute.name() == "value_int") {
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_int64_data(attribute.i());
  } else if (attribute.name() == "value_ints") {
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(attribute.ints_size());
    *tensor.mutable_int64_data() = attribute.ints();
  }
  return tensor;
}

// The names defined so far; each tensor has one definition.
class Definitions {
 public:
  explicit Definitions(const std::string& source) : source_(source) {}
  void add(const std::string& name) {
    if (name.empty()) throw_bad_input(source_ + ": a tensor without a name");
    if (!names_.insert(name).second) {
      throw_bad_input(source_ + ": tensor '" + echoed(name) + "' is defined twice; expected once");
    }
  }

 private:
  const std::string& source_;
  std::set<std::string> names_;
};

void add_constant_node(ModelGraph& graph, const ModelNode& node) {
  const NodeProto& proto = *node.proto;
  const std::string where = node_location(graph, node);
  if (proto.attribute_size() != 1 || proto.input_size() != 0 || proto.output_size() != 1) {
    throw_bad_input(where + ": " + std::to_string(proto.attribute_size()) + " attributes, " +
                    std::to_string(proto.input_size()) + " inputs, " +
                    std::to_string(proto.output_size()) + " outputs; expected 1, 0, 1");
  }
  const AttributeProto& attribute = proto.attribute(0);
  if (attribute.name() == "value" && attribute.has_t()) {
    graph.constants[proto.output(0)] = &attribute.t();
    return;
  }
  TensorProto tensor = number_tensor(attribute);
  if (tensor.data_type() == TensorProto::UNDEFINED) {
    throw_unsupported(where + ": attribute " + echoed(attribute.name()) +
                      "; supported: value, value_float, value_floats, value_int, value_ints");
  }
  graph.constants[proto.output(0)] = &graph.made_constants.emplace_back(std::move(tensor));
}

// True when the node makes a constant, which is then in graph.constants.
bool absorb_constant(ModelGraph& graph, const ModelNode& node) {
  const NodeProto& proto = *node.proto;
  if (!is_default_domain(proto.domain())) return false;
  if (proto.op_type() == "Constant") {
    add_constant_node(graph, node);
    return true;
  }
  if (proto.op_type() != "Identity" || proto.input_size() != 1 || proto.output_size() != 1) {
    return false;
  }
  const TensorProto* constant = graph.constant(proto.input(0));
  if (constant != nullptr) graph.constants[proto.output(0)] = constant;
  return constant != nullptr;
}

void collect_nodes(ModelGraph& graph, const onnx::ModelProto& model, Definitions& definitions) {
  const Domains domains = read_domains(model, graph.source);
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const ModelNode node{&model.graph().node(i), i};
    check_domain(domains, *node.proto, node_location(graph, node));
    for (const std::string& output : node.proto->output()) {
      if (!output.empty()) definitions.add(output);
    }
    if (absorb_constant(graph, node)) continue;
    graph.nodes.push_back(node);
    for (const std::string& input : reads_of(*node.proto)) ++graph.reads[input];
  }
}

// Before IR version 4 every initializer was listed among the inputs too.
void define_inputs(const ModelGraph& graph, const onnx::GraphProto& proto,
                   Definitions& definitions) {
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (graph.constant(input.name()) == nullptr) definitions.add(input.name());
  }
}

}  // namespace

const TensorProto* ModelGraph::constant(const std::string& tensor) const {
  const auto found = constants.find(tensor);
  return found == constants.end() ? nullptr : found->second;
}

void ModelGraph::add_constant(const std::string& tensor, TensorProto value) {
  constants[tensor] = &made_constants.emplace_back(std::move(value));
}

std::string ModelGraph::unused_name(const std::string& like) const {
  const auto is_used = [&](const std::string& wanted) {
    if (constants.contains(wanted) || reads.contains(wanted) || is_output(wanted)) return true;
    const auto is_called = [&](const auto& end) { return end.name() == wanted; };
    if (std::ranges::any_of(file->proto.graph().input(), is_called)) return true;
    return std::ranges::any_of(nodes, [&](const ModelNode& node) {
      return std::ranges::find(node.proto->output(), wanted) != node.proto->output().end();
    });
  };
  std::string found = like;
  for (int number = 1; is_used(found); ++number) found = like + "_" + std::to_string(number);
  return found;
}

bool ModelGraph::is_output(const std::string& tensor) const {
  if (output != nullptr) return output->name() == tensor;
  return std::ranges::any_of(file->proto.graph().output(),
                             [&](const auto& end) { return end.name() == tensor; });
}

ModelGraph ModelGraph::borrowed() const {
  ModelGraph graph;
  graph.file = file;
  graph.source = source;
  graph.name = name;
  graph.opset = opset;
  graph.input = input;
  graph.output = output;
  graph.constants = constants;
  graph.nodes = nodes;
  graph.reads = reads;
  return graph;
}

int ModelGraph::reads_of(const std::string& tensor) const {
  const auto found = reads.find(tensor);
  return found == reads.end() ? 0 : found->second;
}

namespace {

// What a graph reads and does not define.
void add_outer_reads(const onnx::GraphProto& graph, std::vector<std::string>& reads) {
  std::set<std::string> own;
  for (const onnx::ValueInfoProto& input : graph.input()) own.insert(input.name());
  for (const TensorProto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const NodeProto& node : graph.node()) {
    own.insert(node.output().begin(), node.output().end());
  }
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name) && seen.insert(name).second) reads.push_back(name);
  };
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : reads_of(node)) add(name);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) add(output.name());
}

}  // namespace

std::vector<std::string> reads_of(const NodeProto& node) {
  std::vector<std::string> reads(node.input().begin(), node.input().end());
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.type() == AttributeProto::GRAPH) add_outer_reads(attribute.g(), reads);
  }
  return reads;
}

const AttributeProto* find_attribute(const NodeProto& node, std::string_view name) {
  const auto found = std::ranges::find(node.attribute(), name, &AttributeProto::name);
  return found == node.attribute().end() ? nullptr : &*found;
}

std::int64_t integer_of(const NodeProto& node, std::string_view name, std::int64_t fallback) {
  const AttributeProto* const found = find_attribute(node, name);
  return found == nullptr ? fallback : found->i();
}

void add_integer(NodeProto& node, const std::string& name, std::int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

std::string layer_name(const ModelNode& node) {
  if (!node.proto->name().empty()) return node.proto->name();
  return node.proto->op_type() + "_" + std::to_string(node.index);
}

std::string node_location(const ModelGraph& graph, const ModelNode& node) {
  const std::string& name = node.proto->name();
  return graph.source + ": node " +
         (name.empty() ? std::to_string(node.index) : "'" + echoed(name) + "'") + " (" +
         echoed(node.proto->op_type()) + ")";
}

ModelGraph read_model_graph(const ModelFile& file) {
  ModelGraph graph;
  graph.file = &file;
  graph.source = file.path().string();
  graph.opset = read_opset(file.proto, graph.source);
  check_model(file.proto, graph.source);
  const onnx::GraphProto& proto = file.proto.graph();
  graph.name = proto.name().empty() ? file.path().stem().string() : proto.name();
  Definitions definitions(graph.source);
  for (const TensorProto& tensor : proto.initializer()) {
    definitions.add(tensor.name());
    graph.constants[tensor.name()] = &tensor;
  }
  define_inputs(graph, proto, definitions);
  collect_nodes(graph, file.proto, definitions);
  return graph;
}

void find_ends(const ModelFile& file, ModelGraph& graph) {
  const onnx::GraphProto& proto = file.proto.graph();
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (graph.constant(input.name()) != nullptr) continue;
    if (graph.input != nullptr) {
      throw_unsupported(graph.source + ": inputs '" + echoed(graph.input->name()) + "' and '" +
                        echoed(input.name()) + "'; supported: one input");
    }
    graph.input = &input;
  }
  if (graph.input == nullptr) throw_unsupported(graph.source + ": no input; supported: one input");
  if (proto.output_size() == 0) throw_bad_input(graph.source + ": no output; expected one");
  if (proto.output_size() > 1) {
    throw_unsupported(graph.source + ": outputs '" + echoed(proto.output(0).name()) + "' and '" +
                      echoed(proto.output(1).name()) + "'; supported: one output");
  }
  graph.output = &proto.output(0);
}

}  // namespace qsim::formats
