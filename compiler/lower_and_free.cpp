#include "compiler/lower_and_free.h"

#include <span>
#include <variant>

#include "compiler/lowering/lower.h"
#include "core/base/page_release.h"

namespace qsim::compiler {
namespace {

// Null for an operation without weights.
Tensor* weights_of(Layer& layer) {
  if (auto* conv = std::get_if<Conv2d>(&layer.operation)) return &conv->weights;
  if (auto* fc = std::get_if<FullyConnected>(&layer.operation)) return &fc->weights;
  return nullptr;
}

}  // namespace

Program lower_and_free_weights(Graph& graph, const MemoryPlan& plan, const ArchConfig& arch) {
  Program program = lower(graph.name, plan, arch, [&](const SpentWeights& spent) {
    Layer& layer = graph.layers[static_cast<std::size_t>(spent.layer.weights_layer)];
    release_pages(
        std::span(weights_of(layer)->bytes).subspan(spent.begin, spent.end - spent.begin));
  });
  for (Layer& layer : graph.layers) {  // what was spent in pieces shorter than a page
    if (Tensor* weights = weights_of(layer)) release_pages(weights->bytes);
  }
  return program;
}

}  // namespace qsim::compiler
