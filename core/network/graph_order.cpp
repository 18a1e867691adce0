#include "core/network/graph_order.h"

#include <string>

#include "core/base/printable.h"
#include "core/network/layer_checks.h"

namespace qsim {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

// By tensor, the layer that writes it; kNobody for the input.
std::vector<std::size_t> writers_of_tensors(const Graph& graph) {
  std::vector<std::size_t> writers(graph.tensors.size(), kNobody);
  QSIM_CHECK(graph.input < graph.tensors.size(), "the graph's input is not one of its tensors");
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const TensorId output = graph.layers[i].output;
    QSIM_CHECK(output < writers.size() && output != graph.input && writers[output] == kNobody,
               "layer " + std::to_string(i) + " writes no tensor of its own");
    writers[output] = i;
  }
  QSIM_CHECK(graph.tensors.size() == graph.layers.size() + 1, "a tensor that no layer writes");
  return writers;
}

}  // namespace

void check_order(const Graph& graph) {
  const std::vector<std::size_t> writers = writers_of_tensors(graph);
  std::vector<bool> is_read(graph.tensors.size(), false);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const std::size_t least = row_of(layer.operation).least_operands;
    const std::size_t most = row_of(layer.operation).most_operands;
    if (layer.inputs.size() < least || layer.inputs.size() > most) {
      fail_at(layer, "reads " + std::to_string(layer.inputs.size()) + " tensors; " +
                         std::string(operation_name(layer.operation)) + " reads " +
                         (least == most ? "" : "at least ") + std::to_string(least));
    }
    for (const TensorId input : layer.inputs) {
      QSIM_CHECK(input < graph.tensors.size(), layer.name + " reads a tensor that is not there");
      if (input != graph.input && writers[input] >= i) {
        fail_at(layer, "reads the output of layer '" + echoed(graph.layers[writers[input]].name) +
                           "', which is not before it; put it after the layers that it reads");
      }
      is_read[input] = true;
    }
  }
  for (std::size_t i = 0; i + 1 < graph.layers.size(); ++i) {
    if (is_read[graph.layers[i].output]) continue;
    fail_at(graph.layers[i],
            "no layer reads its output; only the last layer's output is the network's");
  }
  QSIM_CHECK(graph.layers.empty() || graph.output == graph.layers.back().output,
             "the graph's output is not its last layer's");
}

std::vector<std::vector<std::size_t>> readers_of_tensors(const Graph& graph) {
  std::vector<std::vector<std::size_t>> readers(graph.tensors.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    for (const TensorId input : graph.layers[i].inputs) {
      if (readers[input].empty() || readers[input].back() != i) readers[input].push_back(i);
    }
  }
  return readers;
}

std::vector<std::string> names_of_tensors(const Graph& graph) {
  std::vector<std::string> names(graph.tensors.size(), "input");
  for (const Layer& layer : graph.layers) names[layer.output] = layer.name;
  return names;
}

bool is_chain(const Graph& graph) {
  TensorId last = graph.input;
  for (const Layer& layer : graph.layers) {
    if (layer.inputs != std::vector<TensorId>{last}) return false;
    last = layer.output;
  }
  return true;
}

}  // namespace qsim
