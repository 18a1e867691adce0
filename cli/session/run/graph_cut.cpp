#include "cli/session/run/graph_cut.h"

#include <algorithm>

#include <fnmatch.h>

#include "core/printable.h"

namespace qsim {
namespace {

// Half-open range of graph layers.
struct Range {
  std::size_t first = 0;
  std::size_t end = 0;
};

bool runs_with_its_producer(const Layer& layer) {
  return std::holds_alternative<Relu>(layer.operation) ||
         std::holds_alternative<MaxPool>(layer.operation);
}

Range matching(const Graph& graph, const std::string& pattern) {
  Range range{graph.layers.size(), 0};
  std::string names;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::string& name = graph.layers[i].name;
    names += (i == 0 ? "" : ", ") + echoed(name);
    if (fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
    range.first = std::min(range.first, i);
    range.end = i + 1;
  }
  if (range.end == 0) {
    throw_bad_input("--layers '" + pattern + "' matches no layer of '" + echoed(graph.name) +
                    "'; its layers: " + names);
  }
  while (range.end < graph.layers.size() && runs_with_its_producer(graph.layers[range.end])) {
    ++range.end;
  }
  while (range.first > 0 &&
         std::holds_alternative<Flatten>(graph.layers[range.first - 1].operation)) {
    --range.first;
  }
  return range;
}

std::ptrdiff_t at(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

// Moves layers [begin, end) out of `graph`, a chain, as a graph of their own.
Graph take_layers(Graph& graph, const Value& input, Range range) {
  Graph part;
  part.name = graph.name;
  part.input_value() = input;
  part.host = graph.host;
  for (std::size_t i = range.first; i < range.end; ++i) {
    Layer& layer = graph.layers[i];
    append(part, std::move(layer.name), std::move(layer.operation), graph.output_of(i),
           std::move(layer.source));
  }
  return part;
}

void cut_recorded(Model& model, Range range) {
  if (model.recorded.empty()) return;
  model.recorded.resize(range.end);
  model.recorded.erase(model.recorded.begin(), model.recorded.begin() + at(range.first));
}

}  // namespace

Tensor cut_layers(Model& model, Tensor input, const std::string& pattern, GoldenSelection* golden) {
  const Range range = matching(model.graph, pattern);
  const bool ends_early = range.end < model.graph.layers.size();
  const Value cut_input = model.graph.input_of(range.first);
  Graph part = take_layers(model.graph, cut_input, range);
  if (range.first > 0) {
    const Graph before = take_layers(model.graph, model.graph.input_value(), {0, range.first});
    input = golden != nullptr
                ? std::move(golden->runner(before, GoldenKeep::kLastLayer)->run(input).back())
                : Tensor(cut_input.dtype, cut_input.shape.nhwc());
    part.host.float_input = false;
  }
  if (ends_early) {
    part.host.float_output = false;
    part.host.flat_output = false;
    if (model.sidecar) model.sidecar->labels.clear();
  }
  cut_recorded(model, range);
  model.graph = std::move(part);
  return input;
}

}  // namespace qsim
