// The nodes of a model one after the other. A node that is not supported does not end it: what
// reads its output is left out, and throw_refusals() tells of all.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/onnx/importer/constant_folding.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// What an importer does with nodes.
struct NodeRules {
  using Operator = std::function<void(const NodeReader& node)>;

  // What adds a node's layers; empty for an operator that is not supported.
  std::function<Operator(const onnx::NodeProto& node)> find;
  ShapeOfInput shape_of;
  std::string_view page;  // lists the operators
  // Whether a node may have more outputs that nothing reads.
  bool ignores_unread_outputs = false;
};

class NodeImport {
 public:
  NodeImport(ModelGraph& model, NodeRules rules) : model_(model), rules_(std::move(rules)) {}

  void add(const ModelNode& node);
  // Throws Error when a node was refused; its details() are the refusals after the first.
  void throw_refusals() const;
  // Lines of the nodes whose operators are not supported, whatever else is wrong with the model.
  std::string unknown_operators() const;

 private:
  bool is_known(const ModelNode& node) const;
  [[noreturn]] void refuse_operator(const NodeReader& node) const;
  void require_one_output(const NodeReader& node) const;
  void import(const NodeReader& node);
  bool reads_refused(const ModelNode& node) const;
  void refuse_outputs(const ModelNode& node);

  ModelGraph& model_;
  NodeRules rules_;
  std::set<std::string, std::less<>> refused_;
  std::vector<std::string> refusals_;
};

}  // namespace qsim::formats
