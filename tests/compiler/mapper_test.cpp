// The mapper: its sums are those of the commands, its bounds hold, and its choice is the best of
// the space that it searches.
#include "compiler/lowering/mapper.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/lowering/mapping_bounds.h"
#include "compiler/lowering/mapping_space.h"
#include "compiler/passes/passes.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/shape_layer.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

// A network's first layer, planned.
class Planned {
 public:
  Planned(Graph graph, const ArchConfig& arch)
      : graph_(std::move(graph)), layers_(fuse_layers(graph_)), plan_(plan_memory(layers_, arch)) {}
  const PlannedLayer& operator*() const { return plan_.layers[0]; }

 private:
  Graph graph_;
  std::vector<FusedLayer> layers_;
  MemoryPlan plan_;
};

ArchConfig random_arch(Random& random) {
  const std::int64_t sizes[] = {4, 8, 16};
  ArchConfig arch = small_arch(sizes[random.uniform(0, 2)], sizes[random.uniform(0, 2)]);
  arch.bus_bytes = sizes[random.uniform(0, 2)];
  if (random.chance(0.3)) arch.accumulator_kib *= 4;
  if (random.chance(0.3)) arch.weight_scratchpad_kib *= 4;
  if (random.chance(0.3)) arch.act_scratchpad_kib *= 4;
  if (random.chance(0.3)) arch.outstanding_bursts = 1;
  return arch;
}

// A convolution, a pool by itself or a fully connected layer.
Graph random_graph(std::uint64_t seed, Random& random, std::int64_t most) {
  GraphBuilder builder(seed, picture(random.chance(0.3) ? 3 : 1, random.uniform(3, most),
                                     random.uniform(3, most), random.uniform(1, 24)));
  if (random.chance(0.15)) return builder.max_pool(window(2)).build();
  if (random.chance(0.15)) return builder.flatten().fully_connected(random.uniform(1, 30)).build();
  builder.conv(random.uniform(1, 30), {random.uniform(1, 3), random.uniform(1, 3),
                                       random.uniform(1, 2), random.uniform(1, 2), 0, 0, 1, 1});
  const ImageShape conv = builder.build().output_value().shape;
  if (conv.height > 1 && conv.width > 1 && random.chance(0.4)) {
    builder.max_pool({2, 2, random.uniform(1, 2), 2, 0, 0, 0, 0});
  }
  return builder.build();
}

// A random layer on a random small machine; the same of the same seed.
struct Case {
  Case(std::uint64_t seed, std::int64_t most_rows)
      : random(seed),
        arch(random_arch(random)),
        layer(random_graph(seed, random, most_rows), arch) {}

  Random random;  // goes on after the draws of the layer
  ArchConfig arch;
  Planned layer;
};

std::int64_t dram_bytes(const LayerCost& cost) {
  return static_cast<std::int64_t>(cost.read_bytes() + cost.write_bytes);
}

// What the objective, cycles or bytes, makes least.
std::int64_t all_bytes(const LayerCost& cost, Objective objective) {
  return dram_bytes(cost) +
         (objective == Objective::kCycles ? 32 * static_cast<std::int64_t>(cost.commands) : 0);
}

struct Costed {
  std::int64_t cycles;
  std::int64_t bytes;
};

// Every valid mapping of the space, timed.
std::vector<Costed> all_costs(const PlannedLayer& layer, const ArchConfig& arch,
                              const MapperOptions& options) {
  std::vector<Costed> costs;
  for (const std::int64_t rows : equal_cuts(layer.geometry.out_rows)) {
    for (const std::int64_t cols : equal_cuts(layer.geometry.out_cols)) {
      for_each_chunking(layer.geometry, arch, options, rows, cols, [&](const Chunking& chunking) {
        for (const Mapping& mapping : mappings_of(chunking, options.search)) {
          if (find_fault(layer.geometry, mapping, arch)) continue;
          const LayerCost cost = cost_of(layer, mapping, arch);
          costs.push_back(
              {static_cast<std::int64_t>(cost.cycles), all_bytes(cost, options.objective)});
        }
      });
    }
  }
  return costs;
}

// The choice by the objective's own words, with no bound.
Costed best_of(const std::vector<Costed>& costs, const MapperOptions& options) {
  std::int64_t fewest = costs.front().cycles;
  for (const Costed& c : costs) fewest = std::min(fewest, c.cycles);
  const double most = static_cast<double>(fewest) * (1 + options.slack);
  const Costed* best = nullptr;
  for (const Costed& c : costs) {
    if (options.objective == Objective::kCycles && static_cast<double>(c.cycles) > most) continue;
    if (best == nullptr || c.bytes < best->bytes) best = &c;
  }
  return *best;
}

TEST(Mapper, TheFullSearchFindsWhatBruteForceFinds) {
  std::int64_t timed = 0;
  std::int64_t brute = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed, 4);
    MapperOptions options;
    options.search = MappingSearch::kFull;
    options.objective = seed % 3 == 0 ? Objective::kBytes : Objective::kCycles;
    options.slack = seed % 4 == 0 ? 0 : seed % 4 == 1 ? 0.02 : 0.0005;
    options.dataflow = static_cast<Dataflow>(c.random.uniform(0, 2));
    const MappedLayer mapped = map_layer(*c.layer, c.arch, options);
    const std::vector<Costed> costs = all_costs(*c.layer, c.arch, options);
    const Costed best = best_of(costs, options);
    EXPECT_EQ(all_bytes(mapped.cost, options.objective), best.bytes);
    timed += mapped.timed;
    brute += std::ssize(costs);
  }
  EXPECT_LT(timed, brute);  // bounds leave mappings out
  RecordProperty("timed", std::to_string(timed));
  RecordProperty("brute_force", std::to_string(brute));
}

// Calls visit(mapping, sums, bounds) for a few random mappings of the layer's whole space.
template <typename Visit>
void for_some_mappings(Case& c, double chance, Visit visit) {
  const PlannedLayer& layer = *c.layer;
  const LayerGeometry& g = layer.geometry;
  MapperOptions options;
  options.search = MappingSearch::kFull;
  options.dataflow = static_cast<Dataflow>(c.random.uniform(0, 2));
  for (const std::int64_t rows : equal_cuts(g.out_rows)) {
    for (const std::int64_t cols : equal_cuts(g.out_cols)) {
      const AxisCut row_cut = cut_axis(g, Axis::kRows, rows);
      const AxisCut col_cut = cut_axis(g, Axis::kCols, cols);
      MappingBounds bounds(layer, c.arch, row_cut, col_cut);
      for_each_chunking(g, c.arch, options, rows, cols, [&](const Chunking& chunking) {
        for (const Mapping& mapping : mappings_of(chunking, options.search)) {
          if (!c.random.chance(chance) || find_fault(g, mapping, c.arch)) continue;
          SCOPED_TRACE(mapping_text(mapping));
          visit(mapping, bounds.sums(mapping, chunking.chunks), bounds);
        }
      });
    }
  }
}

TEST(Mapper, SumsAreThoseOfTheCommandsAndBoundsHold) {
  std::int64_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed, 14);
    for_some_mappings(
        c, 0.01, [&](const Mapping& m, const MappingSums& sums, const MappingBounds& bounds) {
          const LayerCost cost = cost_of(*c.layer, m, c.arch);
          EXPECT_EQ(static_cast<std::uint64_t>(sums.bytes.acts), cost.act_read_bytes);
          EXPECT_EQ(static_cast<std::uint64_t>(sums.bytes.weights), cost.weight_read_bytes);
          EXPECT_EQ(static_cast<std::uint64_t>(sums.bytes.params), cost.param_read_bytes);
          EXPECT_EQ(static_cast<std::uint64_t>(sums.bytes.writes), cost.write_bytes);
          EXPECT_EQ(static_cast<std::uint64_t>(sums.counts.all()), cost.commands);
          const auto cycles = static_cast<std::int64_t>(cost.cycles);
          EXPECT_LE(bounds.least_cycles(m, sums), cycles);
          EXPECT_LE(sums.least_slot_cycles(m), cycles);
          EXPECT_GE(sums.bytes.all(), layer_bounds(*c.layer, c.arch).dram_bytes);
          ++checked;
        });
  }
  EXPECT_GT(checked, 4000);
}

// However many commands a mapping has: the question comes after so many.
TEST(Mapper, ATimingEndsWhenItIsOver) {
  testing::LayerShape shape;
  shape.cols = 512;
  shape.channels = 2048;
  shape.out_channels = 2048;
  const ArchConfig arch = testing::small_arch(4, 4);
  const testing::ShapeLayer layer(shape, arch);
  MapperOptions options;
  const MappedLayer whole = map_layer(*layer, arch, options);
  ASSERT_GT(whole.cost.commands, 20 * kCommandsPerLook);
  std::int64_t commands = 0;
  std::int64_t asked = 0;
  const auto over_at_third = [&] { return ++asked == 3; };
  EXPECT_EQ(cost_within(*layer, whole.mapping, arch, {}, INT64_MAX / 2, commands, over_at_third),
            std::nullopt);
  EXPECT_EQ(commands, 3 * kCommandsPerLook + 1);  // the one that is not added any more
  // A search that is over ends its only timing, and takes the bounds for the cost.
  options.is_over = [] { return true; };
  for (const MappingSearch search : {MappingSearch::kFast, MappingSearch::kFull}) {
    options.search = search;
    const MappedLayer first = map_layer(*layer, arch, options);
    EXPECT_FALSE(first.is_complete);
    EXPECT_EQ(first.timed, 1);
    const LayerCost exact = cost_of(*layer, first.mapping, arch);
    EXPECT_LT(first.cost.cycles, exact.cycles);
    EXPECT_EQ(first.cost.commands, exact.commands);
    EXPECT_EQ(first.cost.read_bytes(), exact.read_bytes());
    EXPECT_EQ(first.cost.write_bytes, exact.write_bytes);
  }
}

// A limit of the exact cycles gives the cost, one less gives nothing.
TEST(Mapper, ATimingWithALimitStopsOnlyBeyondIt) {
  std::int64_t checked = 0;
  std::int64_t saved = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed, 10);
    for_some_mappings(
        c, 0.01, [&](const Mapping& m, const MappingSums& sums, const MappingBounds&) {
          const LayerCost cost = cost_of(*c.layer, m, c.arch);
          const auto cycles = static_cast<std::int64_t>(cost.cycles);
          std::int64_t commands = 0;
          EXPECT_EQ(cost_within(*c.layer, m, c.arch, sums.work, cycles, commands), cost);
          EXPECT_EQ(commands, static_cast<std::int64_t>(cost.commands));
          EXPECT_EQ(cost_within(*c.layer, m, c.arch, sums.work, cycles - 1, commands),
                    std::nullopt);
          commands = 0;
          EXPECT_EQ(cost_within(*c.layer, m, c.arch, sums.work, cycles / 2, commands),
                    std::nullopt);
          saved += static_cast<std::int64_t>(cost.commands) - commands;
          ++checked;
        });
  }
  EXPECT_GT(checked, 2000);
  EXPECT_GT(saved, 10 * checked);
}

// The fast search times a few mappings alone. Layers as small as these are its hardest: they wait
// for latencies, which the bounds do not see.
TEST(Mapper, TheFastSearchIsNearTheBest) {
  std::uint64_t fast_cycles = 0;
  std::uint64_t best_cycles = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed, 7);
    MapperOptions full;
    full.search = MappingSearch::kFull;
    best_cycles += map_layer(*c.layer, c.arch, full).cost.cycles;
    fast_cycles += map_layer(*c.layer, c.arch).cost.cycles;
  }
  EXPECT_LE(fast_cycles, 200'406u);  // of this version; a change may lower it
  EXPECT_LE(best_cycles, fast_cycles);
  RecordProperty("fast", std::to_string(fast_cycles));
  RecordProperty("best", std::to_string(best_cycles));
}

TEST(Mapper, Vgg16sConvolutionsMoveAtMostFiftyMegabytes) {
  const ArchConfig arch = load_arch_config("configs/pe16x16.yaml");
  const Graph graph = load_workload("models/workloads/vgg16.yaml").graph;
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, arch);
  std::int64_t bytes = 0;
  std::uint64_t cycles = 0;
  for (const PlannedLayer& planned : plan_memory(layers, arch).layers) {
    if (planned.geometry.traits().rows_are_vectors) continue;
    const LayerCost cost = cost_of(planned, planned.mapping, arch);
    bytes += dram_bytes(cost);
    cycles += cost.cycles;
  }
  EXPECT_LE(bytes, 50'000'000);
  EXPECT_LE(cycles, 60'081'035u);
}

TEST(Mapper, ALayerWhoseSmallestTileDoesNotFitIsRefusedByName) {
  ArchConfig arch = small_arch(16, 16);
  arch.act_scratchpad_kib = 1;
  arch.accumulator_kib = 1;
  const Graph graph = GraphBuilder(1, picture(1, 50, 50, 16))
                          .conv(5, window(2))
                          .max_pool({4, 4, 4, 4, 0, 0, 0, 0})
                          .build();
  FusedLayer layer = fuse_layers(graph)[0];
  layer.source = "net.onnx: node 'conv0' (QLinearConv)";
  try {
    plan_memory({layer}, arch);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_STREQ(error.what(),
                 "net.onnx: node 'conv0' (QLinearConv): its smallest tile does not fit config "
                 "'small': it needs 20 words of activations (64 available), 16 of an "
                 "accumulator half (8 available) and 1 of an output half (32 available)");
  }
}

TEST(EqualCuts, GiveOneTwoThreePartsAsEqualAsTheirUnitAllows) {
  EXPECT_EQ(equal_cuts(9), (std::vector<std::int64_t>{9, 5, 3, 2, 1}));
  EXPECT_EQ(equal_cuts(18, 2), (std::vector<std::int64_t>{18, 10, 6, 4, 2}));
  EXPECT_EQ(equal_cuts(1), (std::vector<std::int64_t>{1}));
}

// Halves that take 8192 psums; a command counts at most 4095 rows.
TEST(Mapper, SidesOfATileStayWithinTheFieldsOfItsCommands) {
  ArchConfig arch;
  arch.act_scratchpad_kib = 4096;
  arch.accumulator_kib = 1024;
  arch.output_scratchpad_kib = 256;
  arch.dram_latency_cycles = 10000;  // asks for large tiles
  const Planned tall(GraphBuilder(1, picture(1, 7000, 1, 16)).conv(160, {}).build(), arch);
  EXPECT_LE((*tall).mapping.tile_rows, 4095);
  EXPECT_EQ(find_fault((*tall).geometry, (*tall).mapping, arch), std::nullopt);
  const Planned wide(GraphBuilder(1, picture(1, 1, 7000, 16)).conv(160, {}).build(), arch);
  EXPECT_LE((*wide).mapping.tile_cols, 4095);
  EXPECT_EQ(find_fault((*wide).geometry, (*wide).mapping, arch), std::nullopt);
}

}  // namespace
}  // namespace qsim
