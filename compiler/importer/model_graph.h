// The names of an ONNX graph resolved: which tensors are constants, and the one chain of nodes
// from the graph's input to its output. It knows no operator but Constant and Identity.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/importer/model_file.h"

namespace qsim {

inline constexpr int kMinOpset = 10;
inline constexpr int kMaxOpset = 21;

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
  std::deque<onnx::TensorProto> made_constants;  // of Constant nodes that hold plain numbers
  std::vector<ModelNode> nodes;                  // in file order, without constants

  // The initializer, or the value of a Constant node, of that name; null when there is none.
  const onnx::TensorProto* constant(const std::string& tensor) const;
};

// "conv1", or "QLinearConv_3" for a node without a name.
std::string layer_name(const ModelNode& node);
// "model.onnx: node 'conv1' (QLinearConv)", or "... node 3 (QLinearConv)".
std::string node_location(const ModelGraph& graph, const ModelNode& node);

// Checks opset and that every tensor has one definition. Throws Error.
ModelGraph read_model_graph(const ModelFile& file);

// Sets the graph's one input (initializers aside) and one output. Throws Error when there are more
// or none.
void find_ends(const ModelFile& file, ModelGraph& graph);

// The nodes on the way from the graph's input to its output: each reads, as its input 0, the one
// output of the node before. Throws Error naming the node where the graph branches, joins or stops,
// and for a node that is not on the path from input to output.
std::vector<ModelNode> chain_of(const ModelGraph& graph);

}  // namespace qsim
