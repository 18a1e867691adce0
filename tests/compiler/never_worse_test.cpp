// More of a resource never makes a layer slower: not a mapping, and not the mapper's choice beyond
// its slack (docs/reference/mapping.md#never-worse-with-more). Let F be the fewest cycles of the
// space on a machine, and F' those on a machine that has twice as much of something. Then F' <= F,
// and the full search's choice takes at most F' (1 + slack) cycles; layers start at a boundary, so
// the same holds for a network. Why F' <= F:
// 1. Every mapping is valid on the larger machine, and has the same commands. The limits are
//    memories, which are larger, and fields of commands. Slots, tiles and chunks have sizes that
//    follow from the layer, the mapping and the array alone.
// 2. It takes no more cycles there. A larger memory alone changes no time. With a wider bus every
//    run has no more beats, so a transfer has fewer bursts, and shorter ones. Leaving out a burst
//    or shortening it delays no other burst: by induction each one issues no later, because those
//    before it are done no later, and the one that it waits for (`outstanding_bursts` before it) is
//    the same or an earlier one. Every start is the largest of earlier ends.
// 3. The larger machine's space has it, or one that is no worse. No other field's values depend on
//    the size of a memory, except that more of them fit. With `release`, n slots of the smaller
//    scratchpad are among the larger one's: what a half, a quarter, ... of it holds. With `need`
//    the larger one has at least as many slots, and more are never slower.
#include <set>

#include <gtest/gtest.h>

#include "compiler/lowering/mapper.h"
#include "compiler/lowering/mapping_space.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/random_mapping.h"
#include "tests/compiler/shape_layer.h"

namespace qsim {

using namespace compiler;
namespace {

struct Resource {
  const char* name;
  std::int64_t ArchConfig::*field;
};
constexpr Resource kResources[] = {
    {"bus_bytes", &ArchConfig::bus_bytes},
    {"act_scratchpad_kib", &ArchConfig::act_scratchpad_kib},
    {"weight_scratchpad_kib", &ArchConfig::weight_scratchpad_kib},
    {"accumulator_kib", &ArchConfig::accumulator_kib},
    {"output_scratchpad_kib", &ArchConfig::output_scratchpad_kib},
};

ArchConfig random_machine(Random& random) {
  const std::int64_t sizes[] = {4, 8, 16, 32};
  const auto one_of = [&](std::int64_t first, std::int64_t last) {
    return sizes[random.uniform(first, last)];
  };
  ArchConfig arch = testing::small_arch(one_of(0, 2), one_of(0, 2));
  arch.bus_bytes = one_of(0, 3);
  arch.act_scratchpad_kib = 1 << random.uniform(0, 4);
  arch.weight_scratchpad_kib = 1 << random.uniform(0, 4);
  arch.accumulator_kib = 1 << random.uniform(0, 4);
  arch.burst_beats = one_of(0, 3);
  arch.outstanding_bursts = random.uniform(1, 8);
  arch.dram_latency_cycles = random.chance(0.3) ? random.uniform(0, 20) : 100;
  return arch;
}

testing::LayerShape random_shape(Random& random, std::int64_t most_side) {
  testing::LayerShape shape;
  shape.channels = random.uniform(1, 40);
  shape.out_channels = random.uniform(1, 50);
  if (random.chance(0.15)) {
    shape.is_vector = true;
    shape.pictures = random.uniform(1, 20);
    return shape;
  }
  shape.pictures = random.chance(0.2) ? 2 : 1;
  shape.rows = random.uniform(3, most_side);
  shape.cols = random.uniform(3, most_side);
  const std::int64_t kernel_h = random.uniform(1, 3);
  const std::int64_t kernel_w = random.uniform(1, 3);
  const std::int64_t pad = random.uniform(0, 1);
  shape.window = {kernel_h, kernel_w, random.uniform(1, 2), random.uniform(1, 2), pad, pad,
                  pad,      pad};
  if (random.chance(0.2) && shape.window.stride_h == 1 && shape.window.stride_w == 1 &&
      shape.rows > 3 && shape.cols > 3) {
    shape.pool = {2, 2, 2, 2, 0, 0, 0, 0};
  }
  return shape;
}

bool fits(const testing::ShapeLayer& layer, const ArchConfig& arch) {
  const LayerGeometry& g = (*layer).geometry;
  return !find_fault(g, testing::smallest_mapping(g), arch);
}

// Draws a mapping of a layer that fits; it has slots of its own, not the configuration's.
Mapping random_mapping(const testing::ShapeLayer& layer, const ArchConfig& arch, Random& random) {
  const LayerGeometry& g = (*layer).geometry;
  Mapping mapping = testing::random_mapping(g, arch, testing::smallest_mapping(g), random);
  if (mapping.act_slots == 0) mapping.act_slots = arch.act_slots;
  if (mapping.weight_slots == 0) mapping.weight_slots = arch.weight_slots;
  return mapping;
}

TEST(NeverWorse, NoMappingIsSlowerOrMovesMoreOnALargerMachine) {
  std::int64_t cases = 0;
  std::int64_t faster = 0;
  for (std::uint64_t seed = 1; seed <= 800; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig small = random_machine(random);
    const testing::LayerShape shape = random_shape(random, 20);
    const testing::ShapeLayer on_small(shape, small);
    if (!fits(on_small, small)) continue;
    const Mapping mapping = random_mapping(on_small, small, random);
    SCOPED_TRACE(shape.text() + ": " + mapping_text(mapping));
    const LayerCost cost = cost_of(*on_small, mapping, small);
    for (const Resource& resource : kResources) {
      SCOPED_TRACE(resource.name);
      ArchConfig large = small;
      large.*resource.field *= 2;
      const testing::ShapeLayer on_large(shape, large);
      ASSERT_EQ(find_fault((*on_large).geometry, mapping, large), std::nullopt);
      LayerCost more = cost_of(*on_large, mapping, large);
      EXPECT_LE(more.cycles, cost.cycles);
      faster += more.cycles < cost.cycles ? 1 : 0;
      more.cycles = cost.cycles;
      EXPECT_EQ(more, cost);  // the same bytes and commands
      ++cases;
    }
  }
  EXPECT_GT(cases, 3000);
  EXPECT_GT(faster, 300);
  RecordProperty("cases", std::to_string(cases));
}

// More slots make no LOAD later where LOADs are in the order of need.
TEST(NeverWorse, MoreSlotsInTheOrderOfNeedMakeNoMappingSlower) {
  std::int64_t cases = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = random_machine(random);
    arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 64;
    const testing::LayerShape shape = random_shape(random, 20);
    const testing::ShapeLayer layer(shape, arch);
    if (!fits(layer, arch)) continue;
    Mapping mapping = random_mapping(layer, arch, random);
    mapping.load_order = LoadOrder::kNeed;
    Mapping more = mapping;
    more.act_slots = random.uniform(mapping.act_slots, kMostSlots);
    more.weight_slots = random.uniform(mapping.weight_slots, kMostSlots);
    const LayerGeometry& g = (*layer).geometry;
    if (find_fault(g, mapping, arch) || find_fault(g, more, arch)) continue;
    SCOPED_TRACE(shape.text() + ": " + mapping_text(mapping) + "; " + mapping_text(more));
    EXPECT_LE(cost_of(*layer, more, arch).cycles, cost_of(*layer, mapping, arch).cycles);
    ++cases;
  }
  EXPECT_GT(cases, 500);
  RecordProperty("cases", std::to_string(cases));
}

// What the full search finds: the fewest cycles are no more, and those of the choice are within the
// slack of them.
TEST(NeverWorse, TheFullSearchIsNeverWorseWithMore) {
  std::int64_t cases = 0;
  std::int64_t better = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig small = random_machine(random);
    const testing::LayerShape shape = random_shape(random, 7);
    SCOPED_TRACE(shape.text());
    const testing::ShapeLayer on_small(shape, small);
    if (!fits(on_small, small)) continue;
    MapperOptions options;
    options.search = MappingSearch::kFull;
    options.slack = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 0.02 : 0.0005;
    options.dataflow = static_cast<Dataflow>(random.uniform(0, 2));
    const MappedLayer with_less = map_layer(*on_small, small, options);
    for (const Resource& resource : kResources) {
      SCOPED_TRACE(resource.name);
      ArchConfig large = small;
      large.*resource.field *= 2;
      const testing::ShapeLayer on_large(shape, large);
      const MappedLayer with_more = map_layer(*on_large, large, options);
      EXPECT_LE(with_more.fewest_cycles, with_less.fewest_cycles);
      EXPECT_LE(static_cast<double>(with_more.cost.cycles),
                static_cast<double>(with_less.cost.cycles) * (1 + options.slack));
      better += with_more.fewest_cycles < with_less.fewest_cycles ? 1 : 0;
      ++cases;
    }
  }
  EXPECT_GT(cases, 150);
  EXPECT_GT(better, 15);
  RecordProperty("cases", std::to_string(cases));
}

}  // namespace
}  // namespace qsim
