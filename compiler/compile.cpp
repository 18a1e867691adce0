#include "compiler/compile.h"

#include <sstream>

#include "compiler/accepted_layers.h"
#include "compiler/lower_and_free.h"
#include "compiler/lowering/loop_nest.h"
#include "compiler/lowering/lower.h"
#include "compiler/lowering/mapper.h"
#include "compiler/passes/passes.h"
#include "compiler/tensor_reads.h"
#include "compiler/useful_macs.h"
#include "compiler/verifier/verify.h"
#include "core/network/graph_shapes.h"

namespace qsim::compiler {
namespace {

std::vector<FusedLayer> fused_layers(const Graph& graph, const ArchConfig& arch,
                                     const CompileOptions& options) {
  validate(graph);
  QSIM_CHECK(!graph.is_real(), graph.name + ": a float network has no integers");
  validate(arch);
  std::vector<FusedLayer> layers = accepted_layers(graph, arch, options.remedies);
  if (has_tensors(graph)) fold_zero_points(layers);
  place_concats(layers, arch);
  if (options.host_packs_taps) fold_first_layer_taps(layers, arch);
  return layers;
}

void keep_weights(const SpentWeights&) {}

// The last step of every compilation: the verifier's rules, the tensors that LOADs read compared
// with the graph's edges, and the useful MACs counted again.
void check_result(const Program& program, const Graph& graph, const ArchConfig& arch) {
  const std::vector<std::string> violations = verify(program, arch);
  std::string broken;
  for (const std::string& violation : violations) broken += "; " + violation;
  QSIM_CHECK(violations.empty(), "the compiled program breaks rules of compiler/verifier" + broken);
  check_tensor_reads(graph, program);
  check_useful_macs(graph, program);
}

// What an accelerator with larger memories would run.
Refusals memory_refusals(const Error& error) {
  const char* const remedy = "take a configuration with larger memories";
  Refusals refusals = {{error.what(), remedy}};
  std::istringstream lines(error.details());
  for (std::string line; std::getline(lines, line);) refusals.push_back({line, remedy});
  return refusals;
}

}  // namespace

Program compile(const Graph& graph, const ArchConfig& arch, const CompileOptions& options) {
  const std::vector<FusedLayer> layers = fused_layers(graph, arch, options);
  Program program = lower(graph.name, plan_memory(layers, arch, options), arch, keep_weights);
  check_result(program, graph, arch);
  return program;
}

Compilation::Compilation(Graph graph, const ArchConfig& arch, const CompileOptions& options)
    : graph_(std::move(graph)),
      arch_(arch),
      layers_(fused_layers(graph_, arch_, options)),
      plan_(plan_memory(layers_, arch_, options)) {}

std::vector<bool> Compilation::ofmap_layers() const {
  std::vector<bool> layers(graph_.layers.size());
  for (const FusedLayer& layer : layers_)
    layers[static_cast<std::size_t>(layer.graph_layer)] = true;
  return layers;
}

std::vector<LayerMapping> Compilation::mappings() const {
  std::vector<LayerMapping> mappings;
  for (const PlannedLayer& planned : plan_.layers) {
    mappings.push_back({planned.layer->name, planned.mapping, {}, {}});
  }
  return mappings;
}

Program Compilation::commands() const { return lower_commands(graph_.name, plan_, arch_); }

DramUse Compilation::dram_use() const {
  return {plan_.writable_bytes, plan_.separate_bytes, plan_.live_bytes};
}

std::int64_t Compilation::dram_bytes() const {
  if (plan_.layers.empty()) return 0;
  const PlannedLayer& last = plan_.layers.back();
  return last.layer->table ? last.table_address + kTableBytes
                           : last.params_address + last.params_bytes();
}

std::int64_t Compilation::command_count() const {
  std::int64_t count = 0;
  for (const PlannedLayer& planned : plan_.layers) {
    count += LoopNest(planned.geometry, planned.mapping).counts().all();
  }
  return count;
}

std::vector<LayerBounds> Compilation::bounds() const {
  std::vector<LayerBounds> bounds;
  for (const PlannedLayer& planned : plan_.layers) bounds.push_back(layer_bounds(planned, arch_));
  return bounds;
}

Program Compilation::program() const& {
  QSIM_CHECK(has_tensors(graph_), "a program needs the bytes of its weights");
  Program program = lower(graph_.name, plan_, arch_, keep_weights);
  check_result(program, graph_, arch_);
  return program;
}

Program Compilation::program() && {
  QSIM_CHECK(has_tensors(graph_), "a program needs the bytes of its weights");
  Program program = lower_and_free_weights(graph_, plan_, arch_);
  plan_ = {};
  layers_.clear();
  check_result(program, graph_, arch_);
  graph_ = {};
  return program;
}

Refusals refusals_of(const Graph& graph, const ArchConfig& arch, const CompileOptions& options) {
  try {
    const std::vector<FusedLayer> layers = fused_layers(graph, arch, options);
    lower_commands(graph.name, plan_memory(layers, arch, options), arch);
    return {};
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    Refusals refusals = layer_refusals(graph, arch, options.remedies);
    return refusals.empty() ? memory_refusals(error) : refusals;
  }
}

void check_tensors(const Graph& graph) {
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
}

}  // namespace qsim::compiler
