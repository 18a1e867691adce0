#include "compiler/accepted_layers.h"

#include "core/network/graph_shapes.h"

namespace qsim::compiler {
namespace {

std::vector<FusedLayer> checked_layers(const Graph& graph, const ArchConfig& arch,
                                       const Remedies& remedies, Refusals& refusals) {
  std::vector<FusedLayer> layers = fuse_layers(graph, refusals);
  check_requantizers(layers, arch, remedies, refusals);
  return layers;
}

}  // namespace

std::vector<FusedLayer> accepted_layers(const Graph& graph, const ArchConfig& arch,
                                        const Remedies& remedies) {
  Refusals refusals;
  std::vector<FusedLayer> layers = checked_layers(graph, arch, remedies, refusals);
  if (!refusals.empty()) throw_refusals(layer_refusals(graph, arch, remedies));
  return layers;
}

Refusals layer_refusals(const Graph& graph, const ArchConfig& arch, const Remedies& remedies) {
  Refusals refusals;
  std::vector<FusedLayer> layers = checked_layers(graph, arch, remedies, refusals);
  if (has_tensors(graph)) fold_zero_points(layers, refusals);
  return refusals;
}

}  // namespace qsim::compiler
