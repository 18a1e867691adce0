// The compiler's front door: a quantized Graph becomes a Program for one accelerator.
#pragma once

#include <vector>

#include "compiler/lowering/memory_plan.h"
#include "compiler/passes/refusal.h"
#include "core/machine/arch_config.h"
#include "core/machine/layer_bounds.h"
#include "core/machine/program.h"
#include "core/network/graph.h"

namespace qsim::compiler {

// Bytes of DRAM for the input and all ofmaps, weights apart.
struct DramUse {
  std::int64_t bytes = 0;           // of the program
  std::int64_t separate_bytes = 0;  // with a region of its own for each tensor
  std::int64_t live_bytes = 0;      // of the tensors that one layer needs, at most: the least
};

// Throws Error: exit code 3 for an invalid graph or config, exit code 4, naming the layer, for what
// this accelerator cannot run. The same graph, config and options always give the same program.
// Every program has passed compiler/verifier, check_tensor_reads() and check_useful_macs() when it
// is returned; one that fails is a bug (InternalError).
Program compile(const Graph& graph, const ArchConfig& arch, const CompileOptions& options = {});

// The same in two steps, for a caller that runs golden between them. Step 1 refuses what the
// accelerator cannot run, before any work is done for it. Step 2 makes the program. The object owns
// the graph, so that step 2 can free the graph's weights while it packs the program's
// (ADR 0007, docs/adr/machine.md).
class Compilation {
 public:
  // Step 1: the passes, the tiling, the memory plan. Throws as compile(). Only commands() works for
  // a graph without tensors (core/network/graph_shapes.h).
  Compilation(Graph graph, const ArchConfig& arch, const CompileOptions& options = {});
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // The graph as it was given. After `program() &&` it is empty.
  const Graph& graph() const { return graph_; }
  // For each graph layer whether its output is the ofmap of a program layer; the others run fused
  // inside one.
  std::vector<bool> ofmap_layers() const;

  // The mapping of each program layer, in order; empty after `program() &&`.
  std::vector<LayerMapping> mappings() const;

  // The program without weights and parameters: all that its times, DRAM bytes and energy depend
  // on. Throws Error (exit code 4) for commands that do not fit 256 bits. The verifier does not see
  // it: program() makes the same commands.
  Program commands() const;
  // Where the last region of DRAM ends, constants included; as Program::dram_bytes() of program().
  // 0 after `program() &&`.
  std::int64_t dram_bytes() const;
  // What the memory plan takes; zeros after `program() &&`.
  DramUse dram_use() const;
  // How many commands there are.
  std::int64_t command_count() const;

  // What no mapping of each program layer can beat; empty after `program() &&`.
  std::vector<LayerBounds> bounds() const;

  // Step 2. Throws Error (exit code 4) for commands that do not fit 256 bits. The second form frees
  // each part of the graph's weights as soon as that part is packed, so the weights are in memory
  // once; the first form keeps the graph.
  Program program() const&;
  Program program() &&;

 private:
  Graph graph_;
  ArchConfig arch_;
  std::vector<FusedLayer> layers_;  // point into graph_
  MemoryPlan plan_;                 // points into layers_
};

// Why compile() refuses the graph, one refusal a layer and reason; empty where it does not. Throws
// Error for an invalid graph or config. Golden takes every valid graph.
Refusals refusals_of(const Graph& graph, const ArchConfig& arch,
                     const CompileOptions& options = {});

// Throws Error (exit code 4), naming the layer, where compile() refuses the graph's weights and
// biases for their values, whatever the accelerator.
void check_tensors(const Graph& graph);

}  // namespace qsim::compiler
