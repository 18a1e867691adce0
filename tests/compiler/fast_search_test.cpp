// The fast search: what it promises whatever the objective and the slack are, and that a full
// search that ends early is no worse.
#include <gtest/gtest.h>

#include "compiler/lowering/mapper.h"
#include "compiler/lowering/objective.h"
#include "core/base/checked_math.h"
#include "tests/compiler/random_network.h"
#include "tests/compiler/shape_layer.h"

namespace qsim {

using namespace compiler;
namespace {

constexpr Objective kObjectives[] = {Objective::kCycles, Objective::kBytes, Objective::kEnergy,
                                     Objective::kEdp};

// Small layers, whose cycles are mostly latencies, and layers as networks have them.
testing::LayerShape random_shape(Random& random) {
  if (random.chance(0.3)) return testing::realistic_shape(random);
  testing::LayerShape shape;
  shape.channels = random.uniform(1, 200);
  shape.out_channels = random.uniform(1, 200);
  shape.pictures = random.chance(0.2) ? random.uniform(2, 4) : 1;
  shape.is_vector = random.chance(0.2);
  if (shape.is_vector) return shape;
  shape.rows = random.uniform(3, 30);
  shape.cols = random.uniform(3, 30);
  const std::int64_t kernel = random.uniform(1, 3);
  const std::int64_t stride = random.uniform(1, 2);
  shape.window = {kernel, kernel, stride, stride, 1, 1, 1, 1};
  return shape;
}

ArchConfig random_machine(Random& random) {
  const std::int64_t sizes[] = {4, 8, 16, 32};
  ArchConfig arch;
  arch.array_rows = sizes[random.uniform(0, 3)];
  arch.array_cols = sizes[random.uniform(0, 3)];
  arch.bus_bytes = sizes[random.uniform(1, 3)];
  arch.act_scratchpad_kib = 8 << random.uniform(0, 4);
  arch.weight_scratchpad_kib = 8 << random.uniform(0, 4);
  arch.accumulator_kib = 8 << random.uniform(0, 4);
  return arch;
}

// A random layer on a random machine, with random options but for the objective.
struct Case {
  explicit Case(std::uint64_t seed)
      : random(seed), arch(random_machine(random)), layer(random_shape(random), arch) {
    options.dataflow = static_cast<Dataflow>(random.uniform(0, 2));
    options.energy = std::make_shared<const EnergyTable>(testing::random_energy_table(random));
  }
  MappedLayer map(Objective objective, double slack) {
    options.objective = objective;
    options.slack = slack;
    return map_layer(*layer, arch, options);
  }

  Random random;
  ArchConfig arch;
  testing::ShapeLayer layer;
  MapperOptions options;
};

std::int64_t cycles_of(const MappedLayer& mapped) {
  return static_cast<std::int64_t>(mapped.cost.cycles);
}

Score score_of(const MappedLayer& mapped) {
  return {cycles_of(mapped), mapped.amount, static_cast<std::int64_t>(mapped.cost.commands)};
}

// What any objective or slack finds has no fewer cycles than --slack 0, and the default is within
// its slack of them.
TEST(FastSearch, NothingThatItFindsHasFewerCyclesThanASlackOfZero) {
  std::int64_t compared = 0;
  std::int64_t differ = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed);
    const std::int64_t fewest = cycles_of(c.map(Objective::kCycles, 0));
    for (const double slack : {0.0002, 0.0005, 0.02, 0.3}) {
      const MappedLayer mapped = c.map(Objective::kCycles, slack);
      EXPECT_EQ(mapped.fewest_cycles, fewest);
      EXPECT_GE(cycles_of(mapped), fewest);
      EXPECT_LE(cycles_of(mapped), most_cycles(fewest, c.options));
    }
    for (const Objective objective : {Objective::kBytes, Objective::kEnergy, Objective::kEdp}) {
      const std::int64_t cycles = cycles_of(c.map(objective, 0));
      EXPECT_GE(cycles, fewest);
      differ += cycles > fewest ? 1 : 0;
      ++compared;
    }
  }
  EXPECT_GT(differ, compared / 3);
}

// Each objective's choice is at least as good at its own aim as the others' choices that it begins
// with: those of --slack 0 and of the default.
TEST(FastSearch, EachObjectiveIsAtLeastAsGoodAtItsOwnAimAsTheDefault) {
  std::int64_t better = 0;  // than both others
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c(seed);
    const Mapping of_cycles = c.map(Objective::kCycles, 0.0005).mapping;
    const Mapping of_slack_0 = c.map(Objective::kCycles, 0).mapping;
    for (const Objective objective : {Objective::kBytes, Objective::kEnergy, Objective::kEdp}) {
      const MappedLayer own = c.map(objective, 0);
      const ObjectiveAmount amount(*c.layer, c.arch, c.options);
      bool is_better = true;
      for (const Mapping& other : {of_cycles, of_slack_0}) {
        const LayerCost cost = cost_of(*c.layer, other, c.arch);
        const Score score{static_cast<std::int64_t>(cost.cycles), amount.exact(other, cost),
                          static_cast<std::int64_t>(cost.commands)};
        EXPECT_LE(rank_of(score_of(own), objective), rank_of(score, objective));
        is_better &= rank_of(score_of(own), objective).value < rank_of(score, objective).value;
      }
      better += is_better ? 1 : 0;
    }
  }
  EXPECT_GT(better, 150);
  RecordProperty("better", std::to_string(better));
}

// The full search, ended after 0, 1, 2, 4, ... questions whether it is over.
TEST(FastSearch, AFullSearchThatEndsEarlyIsNoWorseThanTheFastOne) {
  std::int64_t ended = 0;
  std::int64_t better = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Case c(seed);
    const Objective objective = kObjectives[seed % 4];
    const double slacks[] = {0, 0.0005, 0.02};
    const double slack = slacks[seed % 3];
    c.options.search = MappingSearch::kFast;
    const MappedLayer fast = c.map(objective, slack);
    c.options.search = MappingSearch::kFull;
    for (std::int64_t most = 0; most <= 256; most = std::max<std::int64_t>(1, 4 * most)) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(most) + " questions");
      std::int64_t asked = 0;
      c.options.is_over = [&] { return ++asked > most; };
      const MappedLayer full = c.map(objective, slack);
      // By one rule for both, with the fewest cycles that either of them saw.
      EXPECT_LE(full.fewest_cycles, fast.fewest_cycles);
      const Score scores[] = {score_of(full), score_of(fast)};
      EXPECT_EQ(best_of(scores, full.fewest_cycles, c.options), 0u);
      EXPECT_LE(cycles_of(full), most_cycles(full.fewest_cycles, c.options));
      // So it has fewer cycles, or no larger value.
      if (cycles_of(full) >= cycles_of(fast)) {
        EXPECT_LE(value_of(scores[0], objective), value_of(scores[1], objective));
      }
      EXPECT_EQ(full.is_complete, asked <= most);
      ended += full.is_complete ? 0 : 1;
      better += rank_of(scores[0], objective) < rank_of(scores[1], objective) ? 1 : 0;
    }
    c.options.is_over = nullptr;
  }
  EXPECT_GT(ended, 150);
  EXPECT_GT(better, 30);
}

// A fast search that is over from the begin on times one mapping, and says that it ended.
TEST(FastSearch, AFastSearchThatIsOverTakesTheFirstMapping) {
  Case c(3);
  const MappedLayer whole = c.map(Objective::kCycles, 0.0005);
  c.options.is_over = [] { return true; };
  const MappedLayer first = c.map(Objective::kCycles, 0.0005);
  EXPECT_TRUE(whole.is_complete);
  EXPECT_FALSE(first.is_complete);
  EXPECT_LT(first.timed, whole.timed);
  EXPECT_EQ(find_fault((*c.layer).geometry, first.mapping, c.arch), std::nullopt);
}

}  // namespace
}  // namespace qsim
