// The cost of a layer, predicted from the boundary, is what the SystemC engine counts: for every
// shipped workload on every shipped configuration. (random_mapping_test.cpp: random mappings.)
#include "compiler/lowering/layer_timing.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

int expect_costs(const Graph& graph, const ArchConfig& arch, Engine& engine) {
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, arch);
  const MemoryPlan plan = plan_memory(layers, arch);
  const Program program = compile(graph, arch);
  const RunAccount run = account(program, engine.run(program, {}, {.move_data = false}).times);
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    const PlannedLayer& planned = plan.layers[l];
    const LayerCost cost = cost_of(planned, planned.mapping, arch);
    EXPECT_EQ(cost.cycles, run.layers[l].cycles()) << planned.layer->name;
    EXPECT_EQ(cost.read_bytes(), run.layers[l].dram_read_bytes) << planned.layer->name;
    EXPECT_EQ(cost.write_bytes, run.layers[l].dram_write_bytes) << planned.layer->name;
  }
  return static_cast<int>(plan.layers.size());
}

TEST(LayerTiming, IsWhatTheEngineCountsForEveryShippedWorkloadOnEveryShippedConfig) {
  const auto engine = make_systemc_engine();
  int compared = 0;
  for (const auto& model : std::filesystem::directory_iterator("models/workloads")) {
    const Graph graph = load_workload(model.path()).graph;
    for (const auto& config : std::filesystem::directory_iterator("configs")) {
      if (!config.is_regular_file()) continue;
      SCOPED_TRACE(model.path().string() + " on " + config.path().string());
      compared += expect_costs(graph, load_arch_config(config.path()), *engine);
    }
  }
  EXPECT_GE(compared, 200);
}

}  // namespace
}  // namespace qsim
