// The mapper under each objective: its amounts are those that a report counts, and its full search
// finds what timing every mapping of the space finds.
#include "compiler/lowering/objective.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/lowering/mapper.h"
#include "report/analysis/energy.h"
#include "tests/compiler/brute_force.h"
#include "tests/compiler/random_network.h"

namespace qsim {

using namespace compiler;
using namespace report;
namespace {

using testing::cost_by_commands;
using testing::Costed;
using testing::kObjectives;
using testing::PlannedNetwork;
using testing::random_options;

// All 520 of them are compared by objective_long_test.cpp.
TEST(Objective, TheFullSearchFindsTheLeastOfEveryObjective) { testing::expect_best_of_all(1, 120); }

// What the mapper predicts of its choice is what a report says of the compiled program.
TEST(Objective, EnergyIsThatOfTheReportToTheLastBit) {
  std::int64_t layers = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = testing::random_machine(random);
    const Graph graph = testing::random_network(seed, random, 2, 12);
    CompileOptions options;
    options.mapper = random_options(random, seed % 2 == 0 ? Objective::kEnergy : Objective::kEdp);
    const Program program = compile(graph, arch, options);
    const std::vector<EnergyEvents> events = energy_events(program);
    const PlannedNetwork network(graph, arch);
    ASSERT_EQ(events.size(), network.layers().size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      const MappedLayer& mapped =
          options.known->at(layer_key(network.layers()[i], arch, options.mapper));
      EXPECT_EQ(mapped.amount, energy(events[i], *options.mapper.energy, arch).total());
      ++layers;
    }
  }
  EXPECT_GE(layers, 200);
}

// Each objective is at least as good at its own aim as the others are.
TEST(Objective, EachIsBestAtItsOwnAim) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = testing::random_machine(random);
    const PlannedNetwork network(testing::random_network(seed, random, 1, 4, 14), arch);
    const PlannedLayer& layer = network.layers().front();
    MapperOptions options = random_options(random, Objective::kCycles);
    options.search = MappingSearch::kFull;
    options.slack = 0;
    std::vector<Mapping> mappings;
    for (const Objective objective : kObjectives) {
      options.objective = objective;
      mappings.push_back(map_layer(layer, arch, options).mapping);
    }
    for (std::size_t own = 0; own < std::size(kObjectives); ++own) {
      options.objective = kObjectives[own];
      const Costed best = cost_by_commands(layer, mappings[own], arch, options);
      for (const Mapping& other : mappings) {
        const Costed cost = cost_by_commands(layer, other, arch, options);
        if (options.objective == Objective::kCycles) {
          EXPECT_LE(best.cycles, cost.cycles);
        } else {
          EXPECT_LE(best.value, cost.value);
        }
      }
    }
  }
}

TEST(Objective, OfEqualValuesTheFewestCyclesAreBest) {
  MapperOptions options;
  options.objective = Objective::kBytes;
  const std::vector<Score> scores = {{90, 7}, {80, 5}, {70, 5}, {60, 6}};
  EXPECT_EQ(best_of(scores, 60, options), 2u);
  options.objective = Objective::kCycles;
  options.slack = 0.2;  // 72 cycles are allowed
  EXPECT_EQ(best_of(scores, 60, options), 2u);
  options.slack = 0.1;  // 66
  EXPECT_EQ(best_of(scores, 60, options), 3u);
  options.objective = Objective::kEdp;  // 630, 400, 350, 360
  EXPECT_EQ(best_of(scores, 60, options), 2u);
}

}  // namespace
}  // namespace qsim
