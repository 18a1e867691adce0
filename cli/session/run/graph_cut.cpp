#include "cli/session/run/graph_cut.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fnmatch.h>

#include "cli/session/inputs/named_layer.h"
#include "core/base/printable.h"
#include "core/network/graph_order.h"
#include "core/network/graph_shapes.h"

namespace qsim::cli {
namespace {

// Half-open range of graph layers.
struct PartLayers {
  std::size_t first = 0;
  std::size_t end = 0;
};

bool reads_alone(const Layer& layer, const Layer& other) {
  return layer.inputs == std::vector<TensorId>{other.output};
}

bool runs_with_its_producer(const Graph& graph, std::size_t layer) {
  const Operation& operation = graph.layers[layer].operation;
  return row_of(operation).selects_levels && !std::holds_alternative<Flatten>(operation) &&
         reads_alone(graph.layers[layer], graph.layers[layer - 1]);
}

PartLayers matching(const Graph& graph, const std::string& pattern) {
  PartLayers range{graph.layers.size(), 0};
  std::string names;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::string& name = graph.layers[i].name;
    names += (i == 0 ? "" : ", ") + echoed(name);
    if (fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
    range.first = std::min(range.first, i);
    range.end = i + 1;
  }
  if (range.end == 0) {
    throw_bad_input("--layers '" + pattern + "' matches no layer of '" + echoed(graph.name) + "'" +
                    hint_on_brackets(pattern) + "; its layers: " + names);
  }
  while (range.end < graph.layers.size() && runs_with_its_producer(graph, range.end)) {
    ++range.end;
  }
  while (range.first > 0 &&
         std::holds_alternative<Flatten>(graph.layers[range.first - 1].operation) &&
         reads_alone(graph.layers[range.first], graph.layers[range.first - 1])) {
    --range.first;
  }
  return range;
}

// The one tensor that the layers of `range` read and do not write.
TensorId input_of_part(const Graph& graph, PartLayers range, const std::string& pattern) {
  std::set<TensorId> written;
  std::vector<TensorId> outside;
  for (std::size_t i = range.first; i < range.end; ++i) {
    for (const TensorId input : graph.layers[i].inputs) {
      if (written.contains(input) || std::ranges::find(outside, input) != outside.end()) continue;
      outside.push_back(input);
    }
    written.insert(graph.layers[i].output);
  }
  if (outside.size() == 1) return outside[0];
  const std::vector<std::string> names = names_of_tensors(graph);
  std::string list;
  for (const TensorId id : outside) list += (list.empty() ? "" : ", ") + echoed(names[id]);
  throw_bad_input("--layers '" + pattern + "': the part from '" +
                  echoed(graph.layers[range.first].name) + "' to '" +
                  echoed(graph.layers[range.end - 1].name) + "' reads " +
                  std::to_string(outside.size()) + " tensors, " + list +
                  "; a part reads one: take in more layers, or fewer");
}

// A tensor that one layer of `range` writes and none of them reads would be a second output.
void require_one_output(const Graph& graph, PartLayers range, const std::string& pattern) {
  const auto readers = readers_of_tensors(graph);
  for (std::size_t i = range.first; i + 1 < range.end; ++i) {
    const auto& all = readers[graph.layers[i].output];
    if (all.front() < range.end) continue;  // only the last layer's output has no reader
    throw_bad_input("--layers '" + pattern + "': only '" + echoed(graph.layers[all.front()].name) +
                    "', after the part, reads '" + echoed(graph.layers[i].name) +
                    "'; take in the one, or leave out the other");
  }
}

std::ptrdiff_t at(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

// Moves the layers that `wanted` names out of `graph` as a graph of their own, which reads `input`.
Graph take_layers(Graph& graph, TensorId input, const std::vector<std::size_t>& wanted) {
  Graph part;
  part.name = graph.name;
  part.input_value() = graph.tensors[input];
  part.host = graph.host;
  std::map<TensorId, TensorId> ids = {{input, part.input}};
  for (const std::size_t i : wanted) {
    Layer& layer = graph.layers[i];
    std::vector<TensorId> inputs;
    for (const TensorId id : layer.inputs) inputs.push_back(ids.at(id));
    ids[layer.output] = append(part, std::move(layer.name), std::move(layer.operation),
                               std::move(inputs), graph.output_of(i), std::move(layer.source));
  }
  return part;
}

// The layers on which `tensor` depends, in their order.
std::vector<std::size_t> layers_before(const Graph& graph, TensorId tensor) {
  std::set<TensorId> needed = {tensor};
  std::vector<std::size_t> layers;
  for (std::size_t i = graph.layers.size(); i-- > 0;) {
    if (!needed.contains(graph.layers[i].output)) continue;
    needed.insert(graph.layers[i].inputs.begin(), graph.layers[i].inputs.end());
    layers.push_back(i);
  }
  return {layers.rbegin(), layers.rend()};
}

std::vector<std::size_t> layers_of(PartLayers range) {
  std::vector<std::size_t> layers(range.end - range.first);
  std::iota(layers.begin(), layers.end(), range.first);
  return layers;
}

void cut_recorded(Model& model, PartLayers range) {
  if (model.recorded.empty()) return;
  model.recorded.resize(range.end);
  model.recorded.erase(model.recorded.begin(), model.recorded.begin() + at(range.first));
}

}  // namespace

Tensor cut_layers(Model& model, Tensor input, const std::string& pattern, GoldenSelection* golden) {
  Graph& graph = model.graph;
  const PartLayers range = matching(graph, pattern);
  const bool ends_early = range.end < graph.layers.size();
  const TensorId cut = input_of_part(graph, range, pattern);
  require_one_output(graph, range, pattern);
  const Value cut_input = graph.tensors[cut];
  Graph part = take_layers(graph, cut, layers_of(range));
  if (cut != graph.input) {
    const Graph before = take_layers(graph, graph.input, layers_before(graph, cut));
    input = golden != nullptr
                ? std::move(golden->runner(before, GoldenKeep::kLastLayer)->run(input).back())
                : shape_alone(cut_input.dtype, cut_input.shape.nhwc());
    part.host.float_input = false;
  }
  if (ends_early) {
    part.host.float_output = false;
    part.host.flat_output = false;
    part.host.tail = {};
    if (model.sidecar) model.sidecar->labels.clear();
  }
  cut_recorded(model, range);
  graph = std::move(part);
  return input;
}

}  // namespace qsim::cli
