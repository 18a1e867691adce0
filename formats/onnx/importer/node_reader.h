// What an operator's importer sees of its node: inputs by number and name, attributes by name, and
// the two ways to refuse it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/stored_bytes.h"

namespace qsim::formats {

class NodeReader {
 public:
  NodeReader(const ModelGraph& graph, const ModelNode& node) : graph_(graph), node_(node) {}

  // Throws unless the node has between min and max inputs.
  void require_inputs(int min, int max) const;

  std::string layer_name() const { return qsim::formats::layer_name(node_); }
  std::string location() const { return node_location(graph_, node_); }
  int opset() const { return graph_.opset; }
  const std::string& op_type() const { return node_.proto->op_type(); }
  const ModelNode& node() const { return node_; }
  const ModelGraph& model() const { return graph_; }
  // Names of tensors. The node has one output (onnx_importer.cpp checks it).
  int inputs() const { return node_.proto->input_size(); }
  const std::string& input(int index) const { return node_.proto->input(index); }
  const std::string& output() const { return node_.proto->output(0); }

  // Exit code 4, "FILE: node 'conv1' (QLinearConv): FOUND; supported: SUPPORTED".
  [[noreturn]] void refuse(const std::string& found, const std::string& supported) const;
  // Exit code 3, "...: FOUND; expected EXPECTED".
  [[noreturn]] void malformed(const std::string& found, const std::string& expected) const;

  // Input `index`, called `name` in the ONNX specification. An empty name in the file means
  // absent. Reading throws when the input is absent, computed, or not a well-formed constant.
  bool has_input(int index) const;
  bool is_constant(int index) const;
  Tensor constant(int index, std::string_view name) const;
  // The same without its bytes, for what may be large.
  StoredTensor stored_constant(int index, std::string_view name) const;
  std::vector<std::int64_t> int64s(int index, std::string_view name) const;
  // The elements of a constant of any shape: of int64, or of another type. `where` opens errors.
  std::vector<std::int64_t> int64s_of(const onnx::TensorProto& proto,
                                      const std::string& where) const;
  Tensor tensor_of(const onnx::TensorProto& proto, const std::string& where) const;

 private:
  friend class NodeAttributes;
  const onnx::TensorProto& constant_proto(int index, std::string_view name) const;
  std::string input_location(int index, std::string_view name) const;

  const ModelGraph& graph_;
  ModelNode node_;
};

// The attributes of a node. An attribute that is not in `allowed`, is given twice, or has another
// type than the one asked for is an error.
class NodeAttributes {
 public:
  NodeAttributes(const NodeReader& node, std::initializer_list<std::string_view> allowed);

  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  float real(std::string_view name, float fallback) const;
  std::string text(std::string_view name, const std::string& fallback) const;
  // `count` integers, or any number of them; nothing when the attribute is absent.
  std::optional<std::vector<std::int64_t>> integers(std::string_view name,
                                                    std::optional<int> count = {}) const;

  // Refuses any value but `supported` of an attribute that is `supported` when absent.
  void require_integer(std::string_view name, std::int64_t supported) const;

 private:
  const onnx::AttributeProto* find(std::string_view name,
                                   onnx::AttributeProto::AttributeType type) const;

  const NodeReader& node_;
};

}  // namespace qsim::formats
