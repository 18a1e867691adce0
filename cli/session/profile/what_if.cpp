#include "cli/session/profile/what_if.h"

#include <array>

#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/mapping_request.h"
#include "compiler/compile.h"
#include "core/network/graph_shapes.h"
#include "report/analysis/cycle_accounting.h"

namespace qsim::cli {

using report::ResourceChange;
namespace {

// Fields that are not resources: texts, and the clock, which changes no cycle.
bool is_resource(const ArchConfigField& field) {
  return field.number != nullptr && field.name != "clock_mhz";
}

std::int64_t changed(const ArchConfigField& field, std::int64_t value) {
  return field.name == "dram_latency_cycles" ? value / 2 : 2 * value;
}

void run_change(ResourceChange& change, Engine& engine, const std::string& model,
                const Graph& shapes, const ArchConfig& config, const TimeRequest& request) {
  const TimedRun run = run_in_time(engine, model, shapes, config, request);
  const report::RunAccount cycles = report::account(run.program, run.result.times);
  for (const report::LayerAccount& layer : cycles.layers)
    change.layer_cycles.push_back(layer.cycles());
  change.total_cycles = cycles.total_cycles;
}

}  // namespace

TimedRun run_in_time(Engine& engine, const std::string& model, Graph graph,
                     const ArchConfig& config, const TimeRequest& request) {
  const compiler::CompileOptions asked =
      compile_options(request.context, request.network, request.mapping, config, graph);
  require_memory_for(model, graph, config, need_of_explain(), asked);
  const compiler::Compilation compilation(std::move(graph), config, asked);
  note_ended_searches(request.context, asked);
  TimedRun run;
  run.program = compilation.commands();
  run.shapes = without_tensors(compilation.graph());
  run.result = engine.run(run.program, {}, {.move_data = false});
  return run;
}

std::vector<ResourceChange> run_with_changes(Engine& engine, const std::string& model,
                                             const Graph& shapes, const ArchConfig& config,
                                             const TimeRequest& request) {
  std::vector<ResourceChange> changes;
  for (const ArchConfigField& field : arch_config_fields()) {
    if (!is_resource(field)) continue;
    const std::int64_t value = config.*field.number;
    ResourceChange change{std::string(field.name), value, changed(field, value), "", {}, 0};
    request.context.progress("change " + std::to_string(changes.size() + 1) + ": running with " +
                             change.field + " " + std::to_string(change.to));
    ArchConfig other = config;
    other.*field.number = change.to;
    try {
      validate(other);
      run_change(change, engine, model, shapes, other, request);
    } catch (const Error& error) {
      change.refusal = error.what();
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace qsim::cli
