// What only the clock shows: the compiler's estimates against the engine's cycles, and the cycles
// that the shipped networks take. Bytes stay the same whatever the cost model and the schedule
// decide, so these numbers are all that holds them.
#include <filesystem>

#include <gtest/gtest.h>

#include "analysis/cycle_accounting.h"
#include "compiler/compile.h"
#include "compiler/lowering/memory_plan.h"
#include "compiler/lowering/tiling.h"
#include "compiler/passes/passes.h"
#include "compiler/workload/workload.h"
#include "files/arch_config_file.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {
namespace {

RunAccount time_of(Engine& engine, const Program& program) {
  return account(program, engine.run(program, {}, {.move_data = false}).times);
}

std::vector<std::int64_t> estimates(const Graph& graph, const ArchConfig& arch) {
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
  fold_first_layer_taps(layers, arch);
  std::vector<std::int64_t> cycles;
  for (const PlannedLayer& planned : plan_memory(layers, arch).layers) {
    cycles.push_back(choose_tiling(*planned.layer, planned.geometry, arch).estimated_cycles);
  }
  return cycles;
}

// The estimate adds 1/32 of the loads on purpose, and the loads of a whole tile to what cannot
// overlap: too much where a layer is one tile, hence a wider upper bound for arrays of 256 PEs on.
TEST(Estimate, IsNearTheCyclesOfVgg8sConvolutionsOnEveryShippedConfig) {
  const Workload workload = load_workload("models/workloads/vgg8.yaml");
  const auto engine = make_systemc_engine();
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (!entry.is_regular_file()) continue;
    const ArchConfig arch = load_arch_config(entry.path());
    const std::vector<std::int64_t> estimated = estimates(workload.graph, arch);
    const Program program = compile(workload.graph, arch);
    const RunAccount run = time_of(*engine, program);
    const std::int64_t pes = arch.array_rows * arch.array_cols;
    const double limit = pes < 256 ? 1.15 : pes < 1024 ? 1.30 : 2.00;
    for (std::size_t l = 0; l < program.layers.size(); ++l) {
      if (!program.layers[l].operation.starts_with("conv2d")) continue;
      const double ratio =
          static_cast<double>(estimated[l]) / static_cast<double>(run.layers[l].cycles());
      EXPECT_GE(ratio, 0.95) << arch.name << " " << program.layers[l].name;
      EXPECT_LE(ratio, limit) << arch.name << " " << program.layers[l].name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 5 * 6);
}

// The cycles of this version. A change that needs more of them is a regression, or has a reason
// that belongs in CHANGELOG.md; one that needs fewer may lower them here.
TEST(Cycles, OfShippedNetworksDoNotGrow) {
  struct Budget {
    const char* workload;
    const char* config;
    std::uint64_t cycles;
  };
  constexpr Budget kBudgets[] = {
      {"vgg8", "pe4x4", 10'730'092},     {"vgg8", "pe8x8", 2'762'863},
      {"vgg8", "pe16x16", 730'946},      {"vgg8", "pe16x32", 370'773},
      {"vgg8", "pe32x32", 209'837},      {"vgg8", "tpu128x128", 53'192},
      {"vgg16", "pe16x16", 67'819'577},  {"alexnet", "pe16x16", 6'317'753},
      {"conv_odd", "pe16x32", 49'826},   {"maxpool_alone", "pe16x16", 30'078},
      {"fc_batch16", "pe4x4", 4'204'784}};
  const auto engine = make_systemc_engine();
  for (const Budget& budget : kBudgets) {
    const Workload workload =
        load_workload("models/workloads/" + std::string(budget.workload) + ".yaml");
    const ArchConfig arch = load_arch_config("configs/" + std::string(budget.config) + ".yaml");
    const RunAccount run = time_of(*engine, compile(workload.graph, arch));
    EXPECT_LE(run.total_cycles, budget.cycles) << budget.workload << " on " << budget.config;
  }
}

}  // namespace
}  // namespace qsim
