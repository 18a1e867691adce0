#include "formats/onnx/importer/node_reader.h"

#include <algorithm>
#include <set>

#include "core/base/printable.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {

using onnx::AttributeProto;

void NodeReader::require_inputs(int min, int max) const {
  const int count = inputs();
  if (count >= min && count <= max) return;
  malformed(std::to_string(count) + " inputs",
            min == max ? std::to_string(min) : std::to_string(min) + " to " + std::to_string(max));
}

void NodeReader::refuse(const std::string& found, const std::string& supported) const {
  throw_unsupported(node_location(graph_, node_) + ": " + found + "; supported: " + supported);
}

void NodeReader::malformed(const std::string& found, const std::string& expected) const {
  throw_bad_input(node_location(graph_, node_) + ": " + found + "; expected " + expected);
}

bool NodeReader::has_input(int index) const {
  return index < node_.proto->input_size() && !node_.proto->input(index).empty();
}

bool NodeReader::is_constant(int index) const {
  return has_input(index) && graph_.constant(input(index)) != nullptr;
}

std::string NodeReader::input_location(int index, std::string_view name) const {
  return node_location(graph_, node_) + ": " + std::string(name) + " '" +
         echoed(node_.proto->input(index)) + "'";
}

const onnx::TensorProto& NodeReader::constant_proto(int index, std::string_view name) const {
  if (!has_input(index)) malformed(std::string(name) + " is absent", "a constant");
  const std::string& tensor = node_.proto->input(index);
  const onnx::TensorProto* proto = graph_.constant(tensor);
  if (proto != nullptr) return *proto;
  // NodeOrder has found each input: what is not a constant is the input or a node's output.
  refuse(std::string(name) + " '" + echoed(tensor) + "' is computed", "a constant");
}

StoredTensor NodeReader::stored_constant(int index, std::string_view name) const {
  const onnx::TensorProto& proto = constant_proto(index, name);
  return store_tensor(proto, files_of(*graph_.file, proto), input_location(index, name));
}

Tensor NodeReader::constant(int index, std::string_view name) const {
  return whole_tensor(stored_constant(index, name));
}

std::vector<std::int64_t> NodeReader::int64s(int index, std::string_view name) const {
  const onnx::TensorProto& proto = constant_proto(index, name);
  return decode_int64s(proto, files_of(*graph_.file, proto), input_location(index, name));
}

std::vector<std::int64_t> NodeReader::int64s_of(const onnx::TensorProto& proto,
                                                const std::string& where) const {
  return decode_int64_elements(proto, files_of(*graph_.file, proto), where);
}

Tensor NodeReader::tensor_of(const onnx::TensorProto& proto, const std::string& where) const {
  return whole_tensor(store_tensor(proto, files_of(*graph_.file, proto), where));
}

NodeAttributes::NodeAttributes(const NodeReader& node,
                               std::initializer_list<std::string_view> allowed)
    : node_(node) {
  std::string names;
  for (const std::string_view name : allowed)
    names += (names.empty() ? "" : ", ") + std::string(name);
  std::set<std::string> seen;
  for (const AttributeProto& attribute : node.node_.proto->attribute()) {
    const std::string& name = attribute.name();
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      node.refuse("attribute '" + echoed(name) + "'", names.empty() ? "no attributes" : names);
    }
    if (!seen.insert(name).second) node.malformed("attribute " + name + " twice", "once");
  }
}

const AttributeProto* NodeAttributes::find(std::string_view name,
                                           AttributeProto::AttributeType type) const {
  for (const AttributeProto& attribute : node_.node_.proto->attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.type() != type || !attribute.ref_attr_name().empty()) {
      node_.malformed("attribute " + std::string(name) + " is of type " +
                          AttributeProto::AttributeType_Name(attribute.type()),
                      AttributeProto::AttributeType_Name(type));
    }
    return &attribute;
  }
  return nullptr;
}

std::int64_t NodeAttributes::integer(std::string_view name, std::int64_t fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute == nullptr ? fallback : attribute->i();
}

float NodeAttributes::real(std::string_view name, float fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  return attribute == nullptr ? fallback : attribute->f();
}

std::string NodeAttributes::text(std::string_view name, const std::string& fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute == nullptr ? fallback : attribute->s();
}

std::optional<std::vector<std::int64_t>> NodeAttributes::integers(std::string_view name,
                                                                  std::optional<int> count) const {
  const AttributeProto* attribute = find(name, AttributeProto::INTS);
  if (attribute == nullptr) return std::nullopt;
  if (count && attribute->ints_size() != *count) {
    node_.malformed("attribute " + std::string(name) + " has " +
                        std::to_string(attribute->ints_size()) + " numbers",
                    std::to_string(*count));
  }
  return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

void NodeAttributes::require_integer(std::string_view name, std::int64_t supported) const {
  const std::int64_t found = integer(name, supported);
  if (found == supported) return;
  node_.refuse(std::string(name) + " = " + std::to_string(found), std::to_string(supported));
}

}  // namespace qsim::formats
