// Layers compiled with random valid mappings: the interpreter in random orders and the SystemC
// engine give the golden's bytes, and the prediction of the layer's cost is what the engine counts.
#include <gtest/gtest.h>

#include "compiler/lowering/layer_timing.h"
#include "compiler/verifier/verify.h"
#include "formats/workload/random_layer.h"
#include "golden/graph/cpu/graph_executor.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/compiler/mapped_network.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

using testing::MappedNetwork;

// What distinguishes mappings, counted so that the test can say what it has seen.
struct Seen {
  int mappings = 0, layers = 0, several_tiles = 0, two_halves = 0, blocks_outer = 0;
  int output_stationary = 0, input_stationary = 0, several_blocks = 0;
  int acts_resident = 0, weights_resident = 0, release = 0, batch_inner = 0, first_chunk = 0;
  std::int64_t commands = 0;

  void note(const Mapping& m) {
    ++layers;
    output_stationary += m.dataflow == Dataflow::kOutputStationary ? 1 : 0;
    input_stationary += m.dataflow == Dataflow::kInputStationary ? 1 : 0;
    several_blocks += m.blocks > 1 ? 1 : 0;
    several_tiles += m.tiles_per_half > 1 ? 1 : 0;
    two_halves += m.halves_per_pass > 1 ? 1 : 0;
    blocks_outer += m.order == LoopOrder::kBlocksOuter ? 1 : 0;
    acts_resident += m.acts_resident ? 1 : 0;
    weights_resident += m.weights_resident ? 1 : 0;
    release += m.load_order == LoadOrder::kRelease ? 1 : 0;
    batch_inner += m.batch_inner ? 1 : 0;
    first_chunk += m.first_weight_folds < m.weight_folds ? 1 : 0;
  }
};

void expect_golden(const Program& program, const RunResult& result,
                   const std::vector<Tensor>& golden) {
  ASSERT_EQ(result.ofmaps.size(), program.layers.size());
  for (std::size_t l = 0; l < program.layers.size(); ++l) {
    const auto graph_layer = static_cast<std::size_t>(program.layers[l].graph_layer);
    EXPECT_TRUE(result.ofmaps[l].bytes == golden[graph_layer].bytes) << program.layers[l].name;
  }
}

void expect_costs(const MemoryPlan& plan, const Program& program, const RunResult& result) {
  const RunAccount run = account(program, result.times);
  std::uint64_t commands = 0;
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    const PlannedLayer& planned = plan.layers[l];
    const LayerCost cost = cost_of(planned, planned.mapping, program.arch);
    EXPECT_EQ(cost.cycles, run.layers[l].cycles()) << planned.layer->name;
    EXPECT_EQ(cost.read_bytes(), run.layers[l].dram_read_bytes) << planned.layer->name;
    EXPECT_EQ(cost.write_bytes, run.layers[l].dram_write_bytes) << planned.layer->name;
    commands += cost.commands;
  }
  EXPECT_EQ(commands, program.command_count());
}

TEST(RandomMapping, ProgramsGiveTheGoldensBytesAndTheCostThatWasPredicted) {
  const auto systemc = make_systemc_engine();
  const auto interpreter = make_program_interpreter(true);
  Seen seen;
  const std::pair<int, int> arrays[] = {{4, 4}, {8, 4}, {4, 16}, {8, 8}, {16, 8}};
  for (std::uint64_t seed = 1; seed <= 250 && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    ArchConfig arch;
    std::tie(arch.array_rows, arch.array_cols) = arrays[seed % std::size(arrays)];
    arch.act_scratchpad_kib = 64;
    arch.bus_bytes = random.chance(0.5) ? 4 : 16;
    arch.dram_latency_cycles = random.uniform(1, 200);
    if (random.chance(0.6)) arch = shrink_memories(arch, random);
    const RandomLayer made = make_random_layer(seed, arch);
    const std::vector<Tensor> golden = golden::run_graph(made.graph, made.input);
    for (int i = 0; i < 3; ++i) {
      const MappedNetwork network(made.graph, arch, random);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", mapping " + std::to_string(i) + "\n" +
                   network.text());
      for (const PlannedLayer& planned : network.plan().layers) seen.note(planned.mapping);
      ++seen.mappings;
      const Program program = network.program();
      std::string violations;
      for (const std::string& violation : verify(program, arch)) violations += violation + "\n";
      ASSERT_EQ(violations, "");
      expect_golden(program, interpreter->run(program, made.input, {.seed = seed}), golden);
      const RunResult result = systemc->run(program, made.input, {});
      expect_golden(program, result, golden);
      expect_costs(network.plan(), program, result);
      seen.commands += static_cast<std::int64_t>(program.command_count());
    }
  }
  EXPECT_GE(seen.mappings, 750);
  for (const int count :
       {seen.several_tiles, seen.two_halves, seen.blocks_outer, seen.acts_resident,
        seen.weights_resident, seen.release, seen.batch_inner, seen.first_chunk,
        seen.output_stationary, seen.input_stationary, seen.several_blocks}) {
    EXPECT_GE(count, 30);
  }
}

}  // namespace
}  // namespace qsim
