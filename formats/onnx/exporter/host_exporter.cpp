#include "formats/onnx/exporter/host_exporter.h"

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "formats/onnx/exporter/model_writer.h"

namespace qsim::formats {
namespace {

// Of ONNX 1.10 on, which all opsets that are written may have.
constexpr std::int64_t kHostIrVersion = 8;

std::string name_of(const HostNetwork& network, HostValueId id) {
  return id == kAbsentValue ? std::string() : network.values[id].name;
}

// Without sizes, each dimension is a symbol of its own.
void declare(onnx::ValueInfoProto& info, const std::string& name, const Tensor& tensor,
             bool has_sizes) {
  info.set_name(name);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_dtype(tensor.dtype));
  onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    onnx::TensorShapeProto::Dimension& dim = *shape.add_dim();
    if (has_sizes) {
      dim.set_dim_value(tensor.shape[d]);
    } else {
      dim.set_dim_param(name + "_" + std::to_string(d));
    }
  }
}

using Opsets = std::map<std::string, int>;  // by domain

// Nodes and constants of a network, or of a body, in which what it captures has the names of the
// values around it.
class HostGraphWriter {
 public:
  HostGraphWriter(HostNetwork network, onnx::GraphProto& graph, Opsets& opsets)
      : network_(std::move(network)), graph_(graph), opsets_(opsets) {}

  void write() {
    graph_.set_name(network_.name);
    for (const HostNode& node : network_.nodes) add_node(node);
    add_constants();
  }

 private:
  void add_node(const HostNode& node) {
    onnx::NodeProto& proto = *graph_.add_node();
    proto.set_name(node.name);
    proto.set_op_type(node.op);
    proto.set_domain(node.domain);
    std::size_t inputs = node.inputs.size();
    for (const auto& [name, value] : node.attributes) {
      onnx::AttributeProto& attribute = *proto.add_attribute();
      attribute.set_name(name);
      set_attribute(attribute, node, value);
      if (const auto* body = std::get_if<HostBody>(&value)) {
        for (const std::size_t captured : body->captured) inputs = std::min(inputs, captured);
      }
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i < inputs) proto.add_input(name_of(network_, node.inputs[i]));
      if (node.inputs[i] != kAbsentValue) read_.insert(node.inputs[i]);
    }
    for (const HostValueId id : node.outputs) proto.add_output(name_of(network_, id));
    const auto [found, is_new] = opsets_.try_emplace(node.domain, node.opset);
    QSIM_CHECK(is_new || found->second == node.opset, node.source + ": of another opset");
  }

  void set_attribute(onnx::AttributeProto& proto, const HostNode& node,
                     const HostAttribute& attribute) {
    using onnx::AttributeProto;
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::int64_t>) {
            proto.set_type(AttributeProto::INT);
            proto.set_i(value);
          } else if constexpr (std::is_same_v<Value, float>) {
            proto.set_type(AttributeProto::FLOAT);
            proto.set_f(value);
          } else if constexpr (std::is_same_v<Value, std::string>) {
            proto.set_type(AttributeProto::STRING);
            proto.set_s(value);
          } else if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>) {
            proto.set_type(AttributeProto::INTS);
            proto.mutable_ints()->Assign(value.begin(), value.end());
          } else if constexpr (std::is_same_v<Value, std::vector<float>>) {
            proto.set_type(AttributeProto::FLOATS);
            proto.mutable_floats()->Assign(value.begin(), value.end());
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            proto.set_type(AttributeProto::STRINGS);
            proto.mutable_strings()->Assign(value.begin(), value.end());
          } else if constexpr (std::is_same_v<Value, HostBody>) {
            proto.set_type(AttributeProto::GRAPH);
            set_body(*proto.mutable_g(), node, value);
          } else {
            proto.set_type(AttributeProto::TENSOR);
            set_tensor(*proto.mutable_t(), value);
          }
        },
        attribute);
  }

  void set_body(onnx::GraphProto& graph, const HostNode& node, const HostBody& body) {
    HostNetwork inside = *body.network;
    const std::size_t given = inside.inputs.size() - body.captured.size();
    for (std::size_t i = 0; i < body.captured.size(); ++i) {
      inside.values[inside.inputs[given + i]].name =
          name_of(network_, node.inputs[body.captured[i]]);
    }
    for (std::size_t i = 0; i < given; ++i) {
      graph.add_input()->set_name(name_of(inside, inside.inputs[i]));
    }
    for (const HostValueId id : inside.outputs) graph.add_output()->set_name(name_of(inside, id));
    HostGraphWriter(std::move(inside), graph, opsets_).write();
  }

  // A node that is written has its outputs from no constant.
  void add_constants() {
    std::set<HostValueId> made;
    for (const HostNode& node : network_.nodes) {
      made.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const HostValueId id : network_.outputs) read_.insert(id);
    for (const HostValueId id : read_) {
      const HostValue& value = network_.values[id];
      if (made.contains(id) || !value.array.has_values()) continue;
      onnx::TensorProto& proto = *graph_.add_initializer();
      set_tensor(proto, value.array.tensor);
      proto.set_name(value.name);
    }
  }

  const HostNetwork network_;
  onnx::GraphProto& graph_;
  Opsets& opsets_;
  std::set<HostValueId> read_;
};

onnx::ModelProto model_of(const HostNetwork& network, const std::vector<Tensor>& outputs) {
  onnx::ModelProto model;
  model.set_ir_version(kHostIrVersion);
  model.set_producer_name("qsim");
  onnx::GraphProto& graph = *model.mutable_graph();
  Opsets opsets;
  HostGraphWriter(network, graph, opsets).write();
  for (const HostValueId id : network.inputs) {
    const HostValue& input = network.values[id];
    declare(*graph.add_input(), input.name, input.array.tensor, input.array.has_shape());
  }
  for (std::size_t i = 0; i < network.outputs.size(); ++i) {
    const HostValue& output = network.values[network.outputs[i]];
    const bool has_shape = output.array.has_shape();
    declare(*graph.add_output(), output.name, has_shape ? output.array.tensor : outputs[i],
            has_shape);
  }
  for (const auto& [domain, opset] : opsets) {
    onnx::OperatorSetIdProto& set = *model.add_opset_import();
    set.set_domain(domain);
    set.set_version(opset);
  }
  return model;
}

}  // namespace

std::string onnx_bytes(const HostNetwork& network, const std::vector<Tensor>& outputs) {
  QSIM_CHECK(outputs.size() == network.outputs.size(), "one tensor an output");
  return serialized(model_of(network, outputs));
}

}  // namespace qsim::formats
