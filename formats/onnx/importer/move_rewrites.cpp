#include "formats/onnx/importer/move_rewrites.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/network/host_network.h"

namespace qsim::formats {
namespace {

// Layers that wait for their QuantizeLinear.
constexpr std::array<std::string_view, 7> kLayers = {
    "Conv", "Gemm", "MatMul", "Add", "AveragePool", "GlobalAveragePool", "ReduceMean"};

bool is_move(const onnx::NodeProto& node) {
  const bool moves = only_reshapes(node.op_type()) || node.op_type() == "Transpose";
  return node.domain().empty() && moves;
}

bool is_layer(const onnx::NodeProto& node) {
  return node.domain().empty() && std::ranges::find(kLayers, node.op_type()) != kLayers.end();
}

class Moves {
 public:
  Moves(ModelGraph& model, std::vector<ModelNode>& nodes) : model_(model), nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].proto->output()) makers_[output] = i;
    }
  }

  void run() {
    std::map<std::size_t, std::vector<ModelNode>> before;  // what comes before a node
    for (const ModelNode& node : nodes_) {
      if (node.proto->op_type() != "QuantizeLinear" || node.proto->input_size() == 0) continue;
      const std::optional<std::size_t> move = first_move(*node.proto);
      if (move) before[*move] = pair_before(*move, *node.proto);
    }
    if (before.empty()) return;
    std::vector<ModelNode> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (const auto found = before.find(i); found != before.end()) {
        all.insert(all.end(), found->second.begin(), found->second.end());
      }
      all.push_back(nodes_[i]);
    }
    nodes_ = std::move(all);
  }

 private:
  const onnx::NodeProto* maker(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    const bool reads = found != makers_.end() && nodes_[found->second].proto->input_size() > 0;
    return reads ? nodes_[found->second].proto : nullptr;
  }

  bool is_read_once(const std::string& tensor) const {
    return model_.reads_of(tensor) == 1 && !model_.is_output(tensor);
  }

  // The first of the moves between a layer and this QuantizeLinear.
  std::optional<std::size_t> first_move(const onnx::NodeProto& quantize) const {
    std::optional<std::size_t> first;
    const std::string* tensor = &quantize.input(0);
    for (const onnx::NodeProto* node = maker(*tensor);
         node != nullptr && is_move(*node) && is_read_once(*tensor); node = maker(*tensor)) {
      first = makers_.at(*tensor);
      tensor = &node->input(0);
    }
    if (!first) return std::nullopt;
    const onnx::NodeProto* node = maker(*tensor);
    while (node != nullptr && (node->op_type() == "Relu" || node->op_type() == "Clip") &&
           is_read_once(*tensor)) {
      tensor = &node->input(0);
      node = maker(*tensor);
    }
    const bool follows_layer = node != nullptr && is_layer(*node) && is_read_once(*tensor) &&
                               is_read_once(nodes_[*first].proto->input(0));
    return follows_layer ? first : std::nullopt;
  }

  std::vector<ModelNode> pair_before(std::size_t move, const onnx::NodeProto& quantize) {
    const std::string tensor = nodes_[move].proto->input(0);
    const std::string levels = model_.unused_name(tensor + "_levels");
    const std::string reals = model_.unused_name(tensor + "_dequantized");
    onnx::NodeProto& first = model_.made_nodes.emplace_back(quantize);
    first.set_input(0, tensor);
    first.set_output(0, levels);
    onnx::NodeProto& second = model_.made_nodes.emplace_back(quantize);
    second.set_op_type("DequantizeLinear");
    second.set_input(0, levels);
    second.set_output(0, reals);
    onnx::NodeProto& moved = model_.made_nodes.emplace_back(*nodes_[move].proto);
    moved.set_input(0, reals);
    nodes_[move].proto = &moved;
    for (const std::string& name : {levels, reals}) model_.reads[name] = 1;
    for (int i = 1; i < quantize.input_size(); ++i) model_.reads[quantize.input(i)] += 2;
    const int index = nodes_[move].index;
    return {{&first, index}, {&second, index}};
  }

  ModelGraph& model_;
  std::vector<ModelNode>& nodes_;
  std::map<std::string, std::size_t, std::less<>> makers_;
};

}  // namespace

void quantize_before_moves(ModelGraph& model, std::vector<ModelNode>& nodes) {
  Moves(model, nodes).run();
}

}  // namespace qsim::formats
