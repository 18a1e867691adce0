// The nodes that a graph's output depends on, in an order in which they can be computed.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {
namespace {

// Depth-first from the output to what it depends on, without recursion: a file may have 10,000
// nodes in a row.
class Ordering {
 public:
  explicit Ordering(const ModelGraph& graph) : graph_(graph), state_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& output : graph.nodes[i].proto->output()) {
        if (!output.empty()) writers_[output] = i;
      }
    }
  }

  // Indices of graph.nodes, each after what it reads.
  std::vector<std::size_t> ancestors_of(const std::string& tensor) {
    visit(tensor, nullptr);
    while (!path_.empty()) {
      Step& step = path_.back();
      const ModelNode& node = graph_.nodes[step.node];
      if (step.next_input < node.proto->input_size()) {
        visit(node.proto->input(step.next_input++), &node);
      } else {
        state_[step.node] = State::kDone;
        order_.push_back(step.node);
        path_.pop_back();
      }
    }
    return is_in_file_order() ? sorted() : order_;
  }

 private:
  std::vector<std::size_t> sorted() const {
    std::vector<std::size_t> order = order_;
    std::sort(order.begin(), order.end());
    return order;
  }

  // Whether each node comes after those that it reads, as ONNX says that it does.
  bool is_in_file_order() const {
    return std::all_of(order_.begin(), order_.end(), [&](std::size_t node) {
      const auto& inputs = graph_.nodes[node].proto->input();
      return std::all_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
        const auto writer = writers_.find(input);
        return writer == writers_.end() || writer->second < node;
      });
    });
  }

  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Step {
    std::size_t node;
    int next_input;
  };

  void visit(const std::string& tensor, const ModelNode* reader) {
    if (tensor.empty() || graph_.constant(tensor) != nullptr) return;
    const auto writer = writers_.find(tensor);
    if (writer == writers_.end()) {
      if (tensor == graph_.input->name()) return;
      throw_bad_input((reader == nullptr ? graph_.source : node_location(graph_, *reader)) +
                      ": tensor '" + echoed(tensor) +
                      "' is missing from the file; expected an initializer or a node's output");
    }
    State& state = state_[writer->second];
    if (state == State::kOpen) {
      throw_bad_input(node_location(graph_, graph_.nodes[writer->second]) + ": tensor '" +
                      echoed(tensor) + "' is computed from itself; expected no cycle");
    }
    if (state == State::kDone) return;
    state = State::kOpen;
    path_.push_back({writer->second, 0});
  }

  const ModelGraph& graph_;
  std::map<std::string, std::size_t, std::less<>> writers_;
  std::vector<State> state_;
  std::vector<Step> path_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::vector<ModelNode> nodes_in_order(const ModelGraph& graph) {
  std::vector<ModelNode> nodes;
  for (const std::size_t index : Ordering(graph).ancestors_of(graph.output->name())) {
    nodes.push_back(graph.nodes[index]);
  }
  return nodes;
}

}  // namespace qsim::formats
