#include "compiler/compile.h"

#include "compiler/lowering/lower.h"
#include "compiler/passes/passes.h"

namespace qsim {

Program compile(const Graph& graph, const ArchConfig& arch) {
  validate(graph);
  validate(arch);
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
  fold_first_layer_taps(layers, arch);
  return lower(graph.name, layers, arch);
}

}  // namespace qsim
