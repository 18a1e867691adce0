#include "formats/onnx/importer/host_importer.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {
namespace {

using onnx::AttributeProto;

using Constants = std::map<std::string, const onnx::TensorProto*, std::less<>>;

std::string own_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// What is there of a graph: its nodes and constants, or what has become of them.
struct GraphContents {
  std::vector<ModelNode> nodes;
  Constants constants;
};

GraphContents contents_of(const onnx::GraphProto& graph, const std::string& source) {
  GraphContents contents;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (!contents.constants.emplace(tensor.name(), &tensor).second) {
      throw_bad_input(source + ": tensor '" + echoed(tensor.name()) +
                      "' is defined twice; expected once");
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) contents.nodes.push_back({&graph.node(i), i});
  return contents;
}

constexpr int kMostDepth = 8;  // of graphs inside each other

class HostReader {
 public:
  HostReader(const ModelFile& file, GraphContents&& contents, const HostImportOptions& options)
      : file_(file),
        proto_(file.proto.graph()),
        nodes_(std::move(contents.nodes)),
        constants_(std::move(contents.constants)),
        options_(options),
        source_(file.path().string()) {
    read_opsets();
  }

  HostNetwork read() {
    network_.name = proto_.name().empty() ? file_.path().stem().string() : proto_.name();
    for (const auto& [name, tensor] : constants_) read_constant(name, *tensor);
    for (const onnx::ValueInfoProto& input : proto_.input()) read_input(input);
    define_outputs();
    for (const onnx::ValueInfoProto& output : proto_.output()) {
      network_.outputs.push_back(named(output.name(), source_ + ": output"));
    }
    if (network_.outputs.empty()) throw_bad_input(source_ + ": no output; expected at least one");
    add_nodes();
    if (around_ == nullptr) round_half_outputs();
    network_.inputs.insert(network_.inputs.end(), captured_.begin(), captured_.end());
    return std::move(network_);
  }

 private:
  // A body of one of its nodes; `where` opens its errors.
  HostReader(HostReader& around, const onnx::GraphProto& body, const std::string& where)
      : file_(around.file_),
        proto_(body),
        options_(around.options_),
        source_(where),
        opsets_(around.opsets_),
        around_(&around),
        depth_(around.depth_ + 1) {
    if (depth_ > kMostDepth) {
      throw_unsupported(where + ": a graph inside " + std::to_string(kMostDepth) +
                        " others; supported: fewer");
    }
    GraphContents contents = contents_of(body, where);
    nodes_ = std::move(contents.nodes);
    constants_ = std::move(contents.constants);
  }

  void read_opsets() {
    for (const onnx::OperatorSetIdProto& set : file_.proto.opset_import()) {
      opsets_[own_domain(set.domain())] = set.version();
    }
    const auto own = opsets_.find("");
    const std::string supported =
        std::to_string(kMinHostOpset) + " to " + std::to_string(kMaxHostOpset);
    if (own == opsets_.end()) {
      throw_unsupported(source_ + ": no opset_import of the ONNX operators; supported: opset " +
                        supported);
    }
    if (own->second < kMinHostOpset || own->second > kMaxHostOpset) {
      throw_unsupported(source_ + ": opset " + std::to_string(own->second) +
                        "; supported: " + supported);
    }
  }

  HostValueId define(const std::string& name) {
    if (name.empty()) throw_bad_input(source_ + ": a tensor without a name");
    const auto [found, is_new] = ids_.try_emplace(name, network_.values.size());
    if (!is_new) {
      throw_bad_input(source_ + ": tensor '" + echoed(name) + "' is defined twice; expected once");
    }
    network_.values.push_back({name});
    return found->second;
  }

  bool knows(const std::string& name) const {
    return ids_.contains(name) || (around_ != nullptr && around_->knows(name));
  }

  // The value of that name; one around a body becomes an input of it.
  HostValueId named(const std::string& name, const std::string& where) {
    const auto found = ids_.find(name);
    if (found == ids_.end()) {
      if (knows(name)) {
        const HostValueId id = define(name);
        captured_.push_back(id);
        return id;
      }
      throw_bad_input(where + ": tensor '" + echoed(name) +
                      "' is nowhere defined; expected an input, an initializer or what a node "
                      "writes");
    }
    return found->second;
  }

  void read_constant(const std::string& name, const onnx::TensorProto& tensor) {
    const HostValueId id = define(name);
    const std::string where = source_ + ": constant '" + echoed(name) + "'";
    network_.values[id].array = {HostArray::Known::kValues,
                                 decode_host_tensor(tensor, files_of(file_, tensor), where)};
  }

  void read_input(const onnx::ValueInfoProto& input) {
    if (ids_.contains(input.name())) return;  // an initializer, before IR version 4
    const HostValueId id = define(input.name());
    network_.inputs.push_back(id);
    const std::string where = source_ + ": input '" + echoed(input.name()) + "'";
    if (around_ != nullptr) return;  // of the type and shape that it is given
    if (!input.type().has_tensor_type()) throw_unsupported(where + ": is not a tensor");
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    const std::optional<DType> dtype = host_dtype(type.elem_type());
    if (!dtype) {
      throw_unsupported(where + ": is " + onnx_dtype_name(type.elem_type()) +
                        "; supported: numbers of at least 4 bits, bool");
    }
    HostArray& array = network_.values[id].array;
    array.tensor.dtype = *dtype;
    const auto given = options_.shapes.find(input.name());
    const Shape* const known = given == options_.shapes.end() ? nullptr : &given->second;
    if (!type.has_shape() && known == nullptr) return;
    array.tensor.shape = type.has_shape() ? Shape{} : *known;
    for (int i = 0; i < type.shape().dim_size(); ++i) {
      const bool is_known = known != nullptr && std::ssize(*known) == type.shape().dim_size();
      const std::optional<std::int64_t> size = size_of(
          type.shape().dim(i), i,
          is_known ? std::optional((*known)[static_cast<std::size_t>(i)]) : std::nullopt, where);
      if (!size) return;
      array.tensor.shape.push_back(*size);
    }
    array.known = HostArray::Known::kShape;
  }

  std::optional<std::int64_t> size_of(const onnx::TensorShapeProto::Dimension& dim, int axis,
                                      std::optional<std::int64_t> known,
                                      const std::string& where) const {
    if (known && axis == 0 && dim.dim_value() > *known) return known;  // fewer pictures
    if (dim.has_dim_value() && dim.dim_value() >= 1) {
      if (dim.dim_value() > kMaxTensorElems) {
        throw_bad_input(where + ": has a dimension of " + std::to_string(dim.dim_value()) +
                        "; expected at most " + std::to_string(kMaxTensorElems));
      }
      return dim.dim_value();
    }
    if (known) return known;
    return axis == 0 ? std::optional(options_.batch) : std::nullopt;
  }

  void define_outputs() {
    makers_.assign(nodes_.size(), {});
    for (int i = 0; i < std::ssize(nodes_); ++i) {
      for (const std::string& output : proto(i).output()) {
        if (output.empty()) continue;
        maker_of_[define(output)] = i;
      }
    }
  }

  // Depth first from the outputs, without recursion: files may be long chains.
  void add_nodes() {
    for (const HostValueId output : network_.outputs) add_maker(output);
    // In file order where that is an order of the graph.
    std::vector<int> order = order_;
    std::ranges::sort(order);
    std::set<HostValueId> there;
    bool is_file_order = true;
    for (const int index : order) {
      for (const std::string& input : reads_of(proto(index))) {
        if (input.empty()) continue;
        const HostValueId id = named(input, place(index));
        if (maker_of_.contains(id) && !there.contains(id)) is_file_order = false;
      }
      for (const std::string& output : proto(index).output()) {
        if (!output.empty()) there.insert(ids_.at(output));
      }
    }
    for (const int index : is_file_order ? order : order_) network_.nodes.push_back(node(index));
  }

  // A host has float32 in place of float16; what leaves it has float16's numbers.
  void round_half_outputs() {
    for (int i = 0; i < proto_.output_size(); ++i) {
      const onnx::TypeProto::Tensor& type = proto_.output(i).type().tensor_type();
      if (type.elem_type() != onnx::TensorProto::FLOAT16) continue;
      HostNode cast;
      cast.op = "Cast";
      cast.name = proto_.output(i).name() + "_as_float16";
      cast.source = source_ + ": output '" + echoed(proto_.output(i).name()) + "'";
      cast.opset = static_cast<int>(opsets_.at(""));
      cast.index = proto_.node_size() + i;  // no other node's
      cast.attributes["to"] = std::int64_t{onnx::TensorProto::FLOAT16};
      cast.inputs = {network_.outputs[static_cast<std::size_t>(i)]};
      cast.outputs = {network_.values.size()};
      network_.values.push_back({cast.name});
      network_.outputs[static_cast<std::size_t>(i)] = cast.outputs[0];
      network_.nodes.push_back(std::move(cast));
    }
  }

  enum class Seen : std::uint8_t { kNot, kBegun, kDone };

  void add_maker(HostValueId value) {
    const auto found = maker_of_.find(value);
    if (found == maker_of_.end()) return;
    std::vector<int> stack = {found->second};
    while (!stack.empty()) {
      const int index = stack.back();
      Seen& seen = makers_[static_cast<std::size_t>(index)];
      if (seen == Seen::kNot) {
        seen = Seen::kBegun;
        for (const std::string& input : reads_of(proto(index))) {
          if (input.empty()) continue;
          const auto maker = maker_of_.find(named(input, place(index)));
          if (maker == maker_of_.end()) continue;
          const Seen before = makers_[static_cast<std::size_t>(maker->second)];
          if (before == Seen::kBegun) {
            throw_bad_input(place(maker->second) +
                            ": depends on its own output; expected a graph "
                            "without cycles");
          }
          if (before == Seen::kNot) stack.push_back(maker->second);
        }
        continue;
      }
      stack.pop_back();
      if (seen == Seen::kBegun) {
        seen = Seen::kDone;
        order_.push_back(index);
      }
    }
  }

  const onnx::NodeProto& proto(int index) const {
    return *nodes_[static_cast<std::size_t>(index)].proto;
  }

  std::string place(int index) const {
    const onnx::NodeProto& node = proto(index);
    const int number = nodes_[static_cast<std::size_t>(index)].index;
    return source_ + ": node " +
           (node.name().empty() ? std::to_string(number) : "'" + echoed(node.name()) + "'") + " (" +
           echoed(node.op_type()) + ")";
  }

  HostNode node(int index) {
    const ModelNode& model_node = nodes_[static_cast<std::size_t>(index)];
    const onnx::NodeProto& proto = *model_node.proto;
    HostNode node;
    node.op = proto.op_type();
    node.name = layer_name(model_node);
    node.domain = own_domain(proto.domain());
    node.source = place(index);
    node.index = model_node.index;
    const auto opset = opsets_.find(node.domain);
    if (opset == opsets_.end()) {
      throw_bad_input(node.source + ": domain '" + echoed(node.domain) +
                      "' is not imported; expected an opset_import of it");
    }
    node.opset = static_cast<int>(std::min<std::int64_t>(opset->second, kMaxHostOpset));
    for (const std::string& input : proto.input()) {
      node.inputs.push_back(input.empty() ? kAbsentValue : named(input, node.source));
    }
    for (const AttributeProto& attribute : proto.attribute()) {
      HostAttribute value = attribute.type() == AttributeProto::GRAPH
                                ? HostAttribute(body_of(attribute, node))
                                : value_of(attribute, node.source);
      if (!node.attributes.emplace(attribute.name(), std::move(value)).second) {
        throw_bad_input(node.source + ": attribute '" + echoed(attribute.name()) +
                        "' is given twice; expected once");
      }
    }
    for (const std::string& output : proto.output()) {
      node.outputs.push_back(output.empty() ? kAbsentValue : ids_.at(output));
    }
    name_type_of_levels(node);
    return node;
  }

  // A host has wider types for uint16, int4 and uint4: a QuantizeLinear to them says so by its
  // attribute output_dtype.
  void name_type_of_levels(HostNode& node) const {
    node.attributes.erase(kLevelsOffset);
    if (node.op != "QuantizeLinear" || node.inputs.size() < 3 || node.inputs[2] == kAbsentValue) {
      return;
    }
    const int type = stored_type_of(network_.values[node.inputs[2]].name);
    node.attributes.erase("output_dtype");  // zero_points have the type
    if (is_wider_on_host(type)) node.attributes["output_dtype"] = std::int64_t{type};
  }

  // The element type in the file of a constant, or of what a Constant node writes; else 0.
  int stored_type_of(const std::string& tensor) const {
    if (const auto found = constants_.find(tensor); found != constants_.end()) {
      return found->second->data_type();
    }
    const auto id = ids_.find(tensor);
    const auto maker = id == ids_.end() ? maker_of_.end() : maker_of_.find(id->second);
    if (maker == maker_of_.end()) return around_ == nullptr ? 0 : around_->stored_type_of(tensor);
    for (const AttributeProto& attribute : proto(maker->second).attribute()) {
      if (proto(maker->second).op_type() == "Constant" && attribute.has_t()) {
        return attribute.t().data_type();
      }
    }
    return 0;
  }

  // Adds what the graph reads of those around it to the node's inputs.
  HostBody body_of(const AttributeProto& attribute, HostNode& node) {
    HostReader reader(*this, attribute.g(), node.source + ": " + echoed(attribute.name()));
    HostBody body{std::make_shared<const HostNetwork>(reader.read())};
    for (const HostValueId id : reader.captured_) {
      body.captured.push_back(node.inputs.size());
      node.inputs.push_back(named(body.network->values[id].name, node.source));
    }
    return body;
  }

  HostAttribute value_of(const AttributeProto& attribute, const std::string& where) const {
    const std::string place = where + ": attribute '" + echoed(attribute.name()) + "'";
    switch (attribute.type()) {
      case AttributeProto::INT:
        return std::int64_t{attribute.i()};
      case AttributeProto::FLOAT:
        return attribute.f();
      case AttributeProto::STRING:
        return attribute.s();
      case AttributeProto::INTS:
        return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
      case AttributeProto::FLOATS:
        return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
      case AttributeProto::STRINGS:
        return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
      case AttributeProto::TENSOR:
        return decode_host_tensor(attribute.t(), files_of(file_, attribute.t()), place);
      default:
        throw_unsupported(place +
                          ": is of another type; supported: numbers, texts, tensors, a graph");
    }
  }

  const ModelFile& file_;
  const onnx::GraphProto& proto_;
  std::vector<ModelNode> nodes_;
  Constants constants_;
  const HostImportOptions& options_;
  std::string source_;
  HostNetwork network_;
  std::map<std::string, HostValueId, std::less<>> ids_;
  std::map<std::string, std::int64_t, std::less<>> opsets_;
  HostReader* around_ = nullptr;  // of a body
  int depth_ = 0;                 // how many graphs are around it
  std::vector<HostValueId> captured_;
  std::map<HostValueId, int> maker_of_;  // the node that writes a value
  std::vector<Seen> makers_;             // by node
  std::vector<int> order_;               // each node after those that it reads
};

}  // namespace

std::vector<std::string> input_names(const std::shared_ptr<const HeldFile>& held) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held);
  std::set<std::string> constants;
  for (const onnx::TensorProto& tensor : file->proto.graph().initializer()) {
    constants.insert(tensor.name());
  }
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : file->proto.graph().input()) {
    if (!constants.contains(input.name())) names.push_back(input.name());
  }
  return names;
}

HostNetwork import_host_network(const ModelFile& file, const HostImportOptions& options) {
  return HostReader(file, contents_of(file.proto.graph(), file.path().string()), options).read();
}

HostNetwork import_host_network(
    const std::shared_ptr<const HeldFile>& held, const HostImportOptions& options,
    const std::function<void(const std::filesystem::path&)>& on_external) {
  HostNetwork network = import_host_network(*read_model_file(held, on_external), options);
  held->require_unchanged();
  return network;
}

HostNetwork import_host_network(const ModelFile& file, const ModelGraph& model,
                                const HostImportOptions& options) {
  return HostReader(file, {model.nodes, model.constants}, options).read();
}

}  // namespace qsim::formats
