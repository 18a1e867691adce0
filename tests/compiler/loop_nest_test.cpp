// The loop nest: every mapping works on every fold of every psum exactly once, and what it counts
// and numbers is what it visits.
#include "compiler/lowering/loop_nest.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "compiler/lowering/memory_plan.h"
#include "compiler/passes/passes.h"
#include "formats/workload/random_layer.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/random_mapping.h"
#include "tests/compiler/random_network.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

struct Case {
  ArchConfig arch;
  LayerGeometry geometry;
  Mapping mapping;
};

Case random_case(std::uint64_t seed) {
  Random random(seed);
  const std::int64_t sizes[] = {4, 8, 16};
  Case c;
  c.arch = testing::small_arch(sizes[random.uniform(0, 2)], sizes[random.uniform(0, 2)]);
  c.arch.act_scratchpad_kib = 16;
  const Graph graph = random.chance(0.5) ? make_random_layer(seed, c.arch).graph
                                         : testing::random_network(seed, random, 1, 9);
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  const PlannedLayer planned = plan_memory(layers, c.arch).layers[0];
  c.geometry = planned.geometry;
  c.mapping = testing::random_mapping(c.geometry, c.arch, planned.mapping, random);
  return c;
}

// Counts what the steps of a nest say.
struct Visited {
  CommandCounts counts;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> folds;  // of tile and block
  std::set<std::int64_t> acts, weights;                                 // in use
  std::int64_t steps = 0;

  void step(const Step& step, const Mapping& mapping, bool shares_weights) {
    const bool is_first_tap = step.kernel_rows.begin == step.weight.kernel_rows.begin &&
                              step.kernel_cols.begin == step.weight.kernel_cols.begin;
    if (is_first_tap) ++steps;
    EXPECT_EQ(step.index, steps - 1);
    ++counts.executes;
    use(acts, counts.act_loads, step.act_load, step.first_use_of_act, step.last_use_of_act);
    use(weights, counts.weight_loads, step.weight_load, step.first_use_of_weight,
        step.last_use_of_weight);
    if (step.starts_turn) ++counts.turns;
    EXPECT_EQ(step.starts_turn && step.turn + 1 != counts.turns, false);
    EXPECT_LT(step.turn, counts.turns);
    EXPECT_LT(step.tile_of_half, mapping.tiles_per_half);
    for (std::int64_t b = 0; b < step.pass.blocks; ++b) {
      std::int64_t& done = folds[{step.pass.first_tile + step.tile, step.pass.first_block + b}];
      EXPECT_EQ(step.first_of_psums, done == 0);
      // In the order in which they are packed; those of a plane serve all its taps.
      EXPECT_EQ(step.weight.first_fold, shares_weights ? step.weight.planes.begin : done);
      EXPECT_TRUE(!shares_weights || step.kernel_rows.size() * step.kernel_cols.size() == 1);
      done += step.weight.planes.size() * step.kernel_rows.size() * step.kernel_cols.size();
    }
  }

  static void use(std::set<std::int64_t>& in_use, std::int64_t& loads, std::int64_t load,
                  bool is_first, bool is_last) {
    if (is_first) {
      EXPECT_EQ(load, loads++);
      in_use.insert(load);
    }
    EXPECT_TRUE(in_use.contains(load));
    if (is_last) in_use.erase(load);
  }
};

TEST(LoopNest, WorksOnEveryFoldOfEveryPsumOnceAndCountsWhatItVisits) {
  std::int64_t steps = 0;
  for (std::uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + mapping_text(c.mapping));
    const LoopNest nest(c.geometry, c.mapping);
    Visited visited;
    nest.for_each_step([&](const Step& step) {
      visited.step(step, c.mapping, c.geometry.traits().shares_weights);
    });
    const CommandCounts counts = nest.counts();
    EXPECT_EQ(counts.executes, visited.counts.executes);
    EXPECT_EQ(counts.act_loads, visited.counts.act_loads);
    EXPECT_EQ(counts.weight_loads, visited.counts.weight_loads);
    EXPECT_EQ(counts.turns, visited.counts.turns);
    EXPECT_EQ(counts.posts, nest.tiles() * c.geometry.column_blocks);
    EXPECT_TRUE(visited.acts.empty() && visited.weights.empty()) << "chunks stay in use";
    EXPECT_EQ(std::ssize(visited.folds), counts.posts);
    for (const auto& [group, folds] : visited.folds) {
      EXPECT_EQ(folds, c.geometry.planes_of(group.second).size() * c.geometry.plane_folds());
    }
    steps += counts.executes;
  }
  EXPECT_GE(steps, 10000);
}

TEST(LoopNest, PsumTilesCoverTheOfmapOnce) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + mapping_text(c.mapping));
    const LoopNest nest(c.geometry, c.mapping);
    std::set<std::array<std::int64_t, 3>> seen;
    std::int64_t positions = 0;
    for (std::int64_t t = 0; t < nest.tiles(); ++t) {
      const Tile tile = nest.tile(t);
      for (auto y = tile.out_y.begin; y < tile.out_y.end; ++y) {
        for (auto x = tile.out_x.begin; x < tile.out_x.end; ++x, ++positions) {
          seen.insert({tile.picture, y, x});
        }
      }
    }
    EXPECT_EQ(positions, c.geometry.pictures * c.geometry.out_rows * c.geometry.out_cols);
    EXPECT_EQ(std::ssize(seen), positions);
  }
}

TEST(LoopNest, PsumTilesRunOverPicturesOutermostOrInnermost) {
  LayerGeometry g;
  g.pictures = 2;
  g.in_rows = g.in_cols = g.conv_rows = g.conv_cols = g.out_rows = g.out_cols = 4;
  g.window = testing::window(1);
  g.pool = testing::window(1);
  Mapping mapping{.tile_rows = 2, .tile_cols = 3};
  const auto places = [&] {
    const LoopNest nest(g, mapping);
    std::vector<std::array<std::int64_t, 3>> found;
    for (std::int64_t t = 0; t < nest.tiles(); ++t) {
      const Tile tile = nest.tile(t);
      found.push_back({tile.picture, tile.out_y.begin, tile.out_x.begin});
    }
    return found;
  };
  using Places = std::vector<std::array<std::int64_t, 3>>;
  EXPECT_EQ(
      places(),
      (Places{
          {0, 0, 0}, {0, 0, 3}, {0, 2, 0}, {0, 2, 3}, {1, 0, 0}, {1, 0, 3}, {1, 2, 0}, {1, 2, 3}}));
  mapping.batch_inner = true;
  EXPECT_EQ(
      places(),
      (Places{
          {0, 0, 0}, {1, 0, 0}, {0, 0, 3}, {1, 0, 3}, {0, 2, 0}, {1, 2, 0}, {0, 2, 3}, {1, 2, 3}}));
}

// The cursors over LOADs name each with the step that is the first to use it.
TEST(LoopNest, LoadsComeInTheOrderOfTheStepsThatNeedThem) {
  for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    const Case c = random_case(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + mapping_text(c.mapping));
    const LoopNest nest(c.geometry, c.mapping);
    ActLoads acts(nest);
    WeightLoads weights(nest);
    nest.for_each_step([&](const Step& step) {
      if (step.first_use_of_act) {
        ASSERT_FALSE(acts.at_end());
        EXPECT_EQ(acts.needed_by(), step.index);
        EXPECT_EQ(acts.number(), step.act_load);
        EXPECT_EQ(acts.tile(), step.pass.first_tile + step.tile);
        EXPECT_EQ(&acts.chunk(), &step.act);
        acts.next();
      }
      if (step.first_use_of_weight) {
        ASSERT_FALSE(weights.at_end());
        EXPECT_EQ(weights.needed_by(), step.index);
        EXPECT_EQ(weights.number(), step.weight_load);
        EXPECT_EQ(&weights.chunk(), &step.weight);
        weights.next();
      }
    });
    EXPECT_TRUE(acts.at_end() && weights.at_end());
  }
}

}  // namespace
}  // namespace qsim
