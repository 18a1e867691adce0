// Layers compiled with random valid mappings on the RTL: the golden's bytes, and the cycles of the
// recurrence, command by command.
#include <set>

#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "golden/graph/cpu/graph_executor.h"
#include "rtl/engine/rtl_engine.h"
#include "sim/recurrence/program_times.h"
#include "tests/compiler/mapped_network.h"
#include "tests/compiler/random_average_pool.h"
#include "tests/rtl/engine/rtl_support.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace rtl;
using namespace sim;
namespace {

TEST(RtlRandomMapping, ProgramsGiveTheGoldensBytesAndTheTimesOfTheRecurrence) {
  QSIM_NEEDS_RTL_MODELS();
  const ArchConfig arch = load_arch_config("configs/pe4x4.yaml");
  const std::unique_ptr<Engine> engine = make_rtl_engine();
  std::size_t commands = 0;
  int several_tiles = 0;
  std::set<Dataflow> dataflows;
  for (std::uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const RandomLayer made = make_random_layer(seed, arch);
    const testing::MappedNetwork network(made.graph, arch, random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + network.text());
    for (const PlannedLayer& planned : network.plan().layers) {
      several_tiles += planned.mapping.tiles_per_half > 1 ? 1 : 0;
      dataflows.insert(planned.mapping.dataflow);
    }
    const Program program = network.program();
    const RunResult result = engine->run(program, made.input, {});
    const std::vector<Tensor> golden = golden::run_graph(made.graph, made.input);
    ASSERT_EQ(result.ofmaps.size(), program.layers.size());
    for (std::size_t l = 0; l < program.layers.size(); ++l) {
      const auto graph_layer = static_cast<std::size_t>(program.layers[l].graph_layer);
      EXPECT_TRUE(result.ofmaps[l].bytes == golden[graph_layer].bytes) << program.layers[l].name;
    }
    EXPECT_TRUE(result.times == command_times(program));
    commands += program.command_count();
  }
  EXPECT_GE(commands, 2000u);
  EXPECT_GE(several_tiles, 3);
  EXPECT_EQ(dataflows.size(), kDataflows);
}

// With counts and scales that are powers of two, which this array takes.
TEST(RtlRandomMapping, AveragePoolsOfSeveralCountsGiveTheGoldensBytesAndTheTimesOfTheRecurrence) {
  QSIM_NEEDS_RTL_MODELS();
  const ArchConfig arch = load_arch_config("configs/pe4x4.yaml");
  const std::unique_ptr<Engine> engine = make_rtl_engine();
  for (std::uint64_t seed = 1; seed <= 12 && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    testing::GraphBuilder builder =
        testing::random_average_pool(seed, random, {.most_channels = 9, .powers_of_two = true});
    const Graph graph = builder.build();
    const Tensor input = builder.random_input();
    const testing::MappedNetwork network(graph, arch, random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + network.text());
    EXPECT_TRUE(network.plan().layers.front().layer->counts.has_value());
    const Program program = network.program();
    const RunResult result = engine->run(program, input, {});
    EXPECT_EQ(result.ofmaps.at(0), golden::run_graph(graph, input).at(0));
    EXPECT_TRUE(result.times == command_times(program));
  }
}

}  // namespace
}  // namespace qsim
