// The compiler's front door: a quantized Graph becomes a Program for one accelerator.
#pragma once

#include <vector>

#include "compiler/lowering/memory_plan.h"
#include "core/arch_config.h"
#include "core/graph.h"
#include "core/program.h"

namespace qsim {

// Throws Error: exit code 3 for an invalid graph or config, exit code 4, naming the layer, for what
// this accelerator cannot run. The same graph and config always give the same program.
Program compile(const Graph& graph, const ArchConfig& arch);

// The same in two steps, for who has something to do with the graph's weights (run golden) once it
// is known that the graph compiles, and can do without them afterwards. `graph` and `arch` must
// outlive this object and stay as they are between the steps.
class Compilation {
 public:
  // Step 1: the passes, the tiling, the memory plan. Throws as compile().
  Compilation(const Graph& graph, const ArchConfig& arch);
  Compilation(Graph&&, const ArchConfig&) = delete;
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // For each graph layer whether its output is the ofmap of a program layer; the others run fused
  // inside one.
  std::vector<bool> ofmap_layers() const;

  // Step 2. Throws Error (exit code 4) for commands beyond their 256 bits.
  Program program() const;
  // The same, and takes the weights' memory while it goes: they are never in memory twice.
  // `graph` is the constructor's; afterwards its weights are tensors of no bytes, so it is good for
  // names, shapes and values alone.
  Program program_taking_weights(Graph& graph) const;

 private:
  const Graph& graph_;
  const ArchConfig& arch_;
  std::vector<FusedLayer> layers_;
  MemoryPlan plan_;  // points into layers_
};

}  // namespace qsim
