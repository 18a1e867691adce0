// A layer starts at a boundary: its cycles do not depend on what runs before it, so the cycles of
// layers add up.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/machine/program_text.h"
#include "formats/workload/random_layer.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace report;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

// Channels that fill planes. With stride 1 the host then lays no taps side by side, so a layer is
// cut alike wherever it is.
std::int64_t whole_planes(Random& random) { return 16 * random.uniform(1, 4); }

void add_random_conv(GraphBuilder& builder, Random& random) {
  const std::int64_t kernel = random.uniform(1, 3);
  builder.conv(whole_planes(random), window(kernel, 1, kernel / 2));
  if (random.chance(0.3)) builder.max_pool(window(2, 2));
}

std::vector<std::uint64_t> layer_cycles(Engine& engine, const Graph& graph,
                                        const ArchConfig& arch) {
  const Program program = compile(graph, arch);
  const RunAccount run = account(program, engine.run(program, {}, {.move_data = false}).times);
  std::vector<std::uint64_t> cycles;
  for (const LayerAccount& layer : run.layers) cycles.push_back(layer.cycles());
  return cycles;
}

TEST(Boundary, ALayerTakesAsManyCyclesAloneAsAfterAnother) {
  const auto engine = make_systemc_engine();
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::int64_t sizes[] = {4, 8, 16};
    ArchConfig arch = small_arch(sizes[random.uniform(0, 2)], sizes[random.uniform(0, 2)]);
    arch.act_slots = random.chance(0.5) ? 2 : 4;
    arch.dram_latency_cycles = random.uniform(1, 200);
    GraphBuilder builder(seed, picture(random.uniform(1, 2), random.uniform(8, 24),
                                       random.uniform(8, 24), whole_planes(random)));
    add_random_conv(builder, random);
    const Graph first = builder.build();
    add_random_conv(builder, random);
    const Graph both = builder.build();
    Graph second;  // alone
    second.name = both.name;
    second.input_value() = first.output_value();
    for (std::size_t i = first.layers.size(); i < both.layers.size(); ++i) {
      append(second, both.layers[i].name, both.layers[i].operation, both.output_of(i));
    }

    const std::vector<std::uint64_t> together = layer_cycles(*engine, both, arch);
    std::vector<std::uint64_t> apart = layer_cycles(*engine, first, arch);
    for (const std::uint64_t cycles : layer_cycles(*engine, second, arch)) apart.push_back(cycles);
    EXPECT_EQ(together, apart);
    compared += static_cast<int>(together.size());
  }
  EXPECT_GE(compared, 120);
}

TEST(Boundary, TheFirstCommandOfALayerWaitsForTheOfmapBeforeItAndNothingElse) {
  const Graph graph = GraphBuilder(3, picture(1, 20, 20, 16))
                          .conv(48, window(3, 1, 1))
                          .conv(48, window(3, 1, 1))
                          .conv(48, window(3, 1, 1))
                          .build();
  const Program program = compile(graph, small_arch(16, 16));
  std::int32_t layer = -1;
  for (const Instruction& instruction : program.stream(Unit::kLoad)) {
    const std::uint16_t waits = instruction.command.wait_mask;
    const auto ofmap_done = static_cast<std::uint16_t>(1u << 10);
    if (instruction.origin.layer != layer) {
      EXPECT_EQ(instruction.origin.layer, layer + 1);
      layer = instruction.origin.layer;
      EXPECT_EQ(waits, layer == 0 ? 0 : ofmap_done);
      const auto& load = std::get<Load>(instruction.command.fields);
      EXPECT_EQ(load.memory, static_cast<std::uint32_t>(LoadMemory::kActivation));
    } else {
      EXPECT_EQ(waits & ofmap_done, 0);
    }
  }
  EXPECT_EQ(layer, 2);
}

}  // namespace
}  // namespace qsim
