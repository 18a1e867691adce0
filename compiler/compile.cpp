#include "compiler/compile.h"

#include "compiler/lowering/lower.h"
#include "compiler/passes/passes.h"
#include "core/page_release.h"

namespace qsim {
namespace {

std::vector<FusedLayer> fused_layers(const Graph& graph, const ArchConfig& arch) {
  validate(graph);
  validate(arch);
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
  fold_first_layer_taps(layers, arch);
  return layers;
}

void drop_weights(Layer& layer) {
  const auto drop = [](Tensor& weights) { weights.bytes = std::vector<std::byte>(); };
  if (auto* conv = std::get_if<Conv2d>(&layer.operation)) drop(conv->weights);
  if (auto* fc = std::get_if<FullyConnected>(&layer.operation)) drop(fc->weights);
}

}  // namespace

Program compile(const Graph& graph, const ArchConfig& arch) {
  return Compilation(graph, arch).program();
}

Compilation::Compilation(const Graph& graph, const ArchConfig& arch)
    : graph_(graph),
      arch_(arch),
      layers_(fused_layers(graph, arch)),
      plan_(plan_memory(layers_, arch)) {}

std::vector<bool> Compilation::ofmap_layers() const {
  std::vector<bool> layers(graph_.layers.size());
  for (const FusedLayer& layer : layers_)
    layers[static_cast<std::size_t>(layer.graph_layer)] = true;
  return layers;
}

Program Compilation::program() const {
  return lower(graph_.name, plan_, arch_, [](std::span<const std::int8_t>) {});
}

Program Compilation::program_taking_weights(Graph& graph) const {
  QSIM_CHECK(&graph == &graph_, "the weights of another graph");
  Program program = lower(graph_.name, plan_, arch_, [](std::span<const std::int8_t> spent) {
    // The passes see weights as const; here they are the caller's to give away.
    auto* bytes = reinterpret_cast<std::byte*>(const_cast<std::int8_t*>(spent.data()));
    release_pages({bytes, spent.size()});
  });
  for (Layer& layer : graph.layers) drop_weights(layer);
  return program;
}

}  // namespace qsim
