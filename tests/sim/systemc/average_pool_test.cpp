// Average pools whose windows count several numbers of positions, with random mappings: interpreter
// and SystemC model have the bytes of golden's plain loops, and the prediction of a layer's cost is
// what the engine counts.
#include <gtest/gtest.h>

#include "compiler/lowering/layer_timing.h"
#include "compiler/lowering/mapping_bounds.h"
#include "compiler/verifier/verify.h"
#include "golden/graph/cpu/graph_executor.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/compiler/mapped_network.h"
#include "tests/compiler/random_average_pool.h"

namespace qsim {

using namespace compiler;
using namespace report;
using namespace sim;
namespace {

TEST(AveragePools, EnginesHaveGoldensBytesAndTheCompilersCycles) {
  const auto systemc = make_systemc_engine();
  const auto interpreter = make_program_interpreter();
  int edges = 0;
  int several_tiles = 0;
  for (std::uint64_t seed = 1; seed <= 120 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = random.chance(0.5) ? testing::small_arch(8, 4) : testing::small_arch(4, 16);
    arch.requantizer = RequantizerKind::kDyadic;
    arch.act_scratchpad_kib = 16;
    testing::GraphBuilder builder = testing::random_average_pool(seed, random, {.most_side = 12});
    const Graph graph = builder.build();
    const Tensor input = builder.random_input();
    const testing::MappedNetwork network(graph, arch, random);
    SCOPED_TRACE(network.text());
    const PlannedLayer& planned = network.plan().layers.front();
    if (planned.layer->counts) {
      ++edges;
      several_tiles += planned.mapping.tiles_per_half > 1 ? 1 : 0;
    }
    golden::ExecutorOptions plain;
    plain.path = golden::Path::kPlain;
    const std::vector<Tensor> golden = golden::run_graph(graph, input, plain);
    const Program program = network.program();
    ASSERT_EQ(verify(program, arch), std::vector<std::string>{});
    const RunResult run = systemc->run(program, input, {});
    EXPECT_EQ(run.ofmaps.at(0), golden.at(0));
    EXPECT_EQ(interpreter->run(program, input, {}).ofmaps.at(0), golden.at(0));
    const LayerAccount account = qsim::report::account(program, run.times).layers.at(0);
    const LayerCost cost = cost_of(planned, planned.mapping, arch);
    EXPECT_EQ(cost.cycles, account.cycles());
    EXPECT_EQ(cost.read_bytes(), account.dram_read_bytes);
    EXPECT_EQ(cost.write_bytes, account.dram_write_bytes);
    const AxisCut rows = cut_axis(planned.geometry, Axis::kRows, planned.mapping.tile_rows);
    const AxisCut cols = cut_axis(planned.geometry, Axis::kCols, planned.mapping.tile_cols);
    const LayerBytes bytes = LayerSums(planned, arch).bytes(planned.mapping, rows, cols);
    EXPECT_EQ(static_cast<std::uint64_t>(bytes.acts + bytes.weights + bytes.params),
              account.dram_read_bytes);
    MappingBounds bounds(planned, arch, rows, cols);
    const MappingSums sums =
        bounds.sums(planned.mapping, LayerSums(planned, arch).chunks(planned.mapping));
    EXPECT_LE(static_cast<std::uint64_t>(bounds.least_cycles(planned.mapping, sums)), cost.cycles);
  }
  EXPECT_GE(edges, 20);
  EXPECT_GE(several_tiles, 5);
}

// Where a corner's count is reached by no other: each of the nine rectangles has its own bytes.
TEST(AveragePools, EachWindowIsDividedByWhatItCounts) {
  testing::GraphBuilder builder(1, testing::picture(1, 5, 6, 3));
  builder.average_pool(testing::window(3, 1, 1), RequantizerRounding::kFloat32, 1.0F, false);
  builder.last_output().zero_point = 0;
  ArchConfig arch = testing::small_arch(4, 4);
  arch.requantizer = RequantizerKind::kDyadic;
  Tensor input = builder.random_input();
  for (std::byte& b : input.bytes) b = std::byte{36};  // each average, whatever it counts
  const Graph graph = builder.build();
  Random random(1);
  const testing::MappedNetwork network(graph, arch, random);
  const RunResult run = make_systemc_engine()->run(network.program(), input, {});
  for (const std::byte b : run.ofmaps.at(0).bytes) EXPECT_EQ(b, std::byte{36});
}

}  // namespace
}  // namespace qsim
