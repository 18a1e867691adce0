// The names of an ONNX graph resolved: which tensors are constants, which node writes a tensor and
// how many read it, and the order of the nodes. It knows no operator but Constant and Identity.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "formats/onnx/importer/model_file.h"

namespace qsim::formats {

inline constexpr int kMinOpset = 7;
inline constexpr int kMaxOpset = 25;

struct ModelNode {
  const onnx::NodeProto* proto = nullptr;
  int index = 0;  // in the file
};

// Points into the ModelFile that it was made from.
struct ModelGraph {
  const ModelFile* file = nullptr;
  std::string source;  // the model's path, which opens every error
  std::string name;
  int opset = 0;
  const onnx::ValueInfoProto* input = nullptr;   // by find_ends
  const onnx::ValueInfoProto* output = nullptr;  // by find_ends
  std::map<std::string, const onnx::TensorProto*, std::less<>> constants;
  std::deque<onnx::TensorProto> made_constants;   // of Constant nodes that hold plain numbers
  std::deque<onnx::NodeProto> made_nodes;         // that stand for several of the file
  std::vector<ModelNode> nodes;                   // in file order, without constants
  std::map<std::string, int, std::less<>> reads;  // of each tensor, by inputs of nodes

  // The initializer, or the value of a Constant node, of that name; null when there is none.
  const onnx::TensorProto* constant(const std::string& tensor) const;
  // Names a constant that was computed from others.
  void add_constant(const std::string& tensor, onnx::TensorProto value);
  // `like`, or with digits after it: what no tensor of the file is called, nor a made constant.
  std::string unused_name(const std::string& like) const;
  // Whether it is the output, or, where none is set, one of the file's.
  bool is_output(const std::string& tensor) const;
  // The same graph, which lives no longer than this one: it has what is made by pointers alone.
  ModelGraph borrowed() const;
  // How many inputs of nodes a tensor is.
  int reads_of(const std::string& tensor) const;
};

// The tensors that a node reads: its inputs ("" for one that is left out), and what the graphs
// inside it (of If, Loop and Scan) read of the graphs around them.
std::vector<std::string> reads_of(const onnx::NodeProto& node);

// A node's attribute of that name; null where it has none.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);

// The integer of an attribute; `fallback` where a node has none of that name.
std::int64_t integer_of(const onnx::NodeProto& node, std::string_view name, std::int64_t fallback);

// Adds an attribute of one integer.
void add_integer(onnx::NodeProto& node, const std::string& name, std::int64_t value);

// "conv1", or "QLinearConv_3" for a node without a name.
std::string layer_name(const ModelNode& node);
// "model.onnx: node 'conv1' (QLinearConv)", or "... node 3 (QLinearConv)".
std::string node_location(const ModelGraph& graph, const ModelNode& node);

// Checks opset and that every tensor has one definition. Throws Error.
ModelGraph read_model_graph(const ModelFile& file);

// Sets the graph's one input (initializers aside) and one output. Throws Error when there are more
// or none.
void find_ends(const ModelFile& file, ModelGraph& graph);

// The nodes that the graph's output depends on, each after the nodes whose outputs it reads: in
// file order, where that is such an order. Throws Error for a tensor that is nowhere defined and
// for a cycle.
std::vector<ModelNode> nodes_in_order(const ModelGraph& graph);

}  // namespace qsim::formats
