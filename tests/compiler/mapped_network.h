// A network whose layers have random valid mappings, lowered without the compiler's choice.
#pragma once

#include <string>
#include <vector>

#include "compiler/lowering/lower.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/random_mapping.h"

namespace qsim::testing {

// `graph` and `arch` must outlive the object.
class MappedNetwork {
 public:
  MappedNetwork(const Graph& graph, const ArchConfig& arch, Random& random)
      : graph_(graph), arch_(arch), layers_(compiler::fuse_layers(graph)) {
    compiler::fold_zero_points(layers_);
    compiler::place_concats(layers_, arch);
    compiler::fold_first_layer_taps(layers_, arch_);
    plan_ = compiler::plan_memory(layers_, arch_);
    for (compiler::PlannedLayer& planned : plan_.layers) {
      planned.mapping = random_mapping(planned.geometry, arch_, planned.mapping, random);
    }
  }

  const compiler::MemoryPlan& plan() const { return plan_; }
  std::string text() const {
    std::string text;
    for (const compiler::PlannedLayer& planned : plan_.layers) {
      text += planned.layer->name + ": " + mapping_text(planned.mapping) + "\n";
    }
    return text;
  }
  Program program() const {
    return compiler::lower(graph_.name, plan_, arch_, [](const compiler::SpentWeights&) {});
  }

 private:
  const Graph& graph_;
  const ArchConfig& arch_;
  std::vector<compiler::FusedLayer> layers_;
  compiler::MemoryPlan plan_;
};

}  // namespace qsim::testing
