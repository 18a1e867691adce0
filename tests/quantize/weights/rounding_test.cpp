// Learned rounding against all choices of small rows.
#include <limits>

#include <gtest/gtest.h>

#include "quantize/weights/adaptive_rounding.h"
#include "tests/quantize/weights/rounding_fixture.h"

namespace qsim::quantize {
namespace {

using Levels16 = std::vector<std::int16_t>;

// The least error of row `channel` over every choice between the levels around each weight.
double least_error(const Matrix& weights, QuantizedWeights quantized, const LevelGrid& grid,
                   const RoundingProblem& problem, std::int64_t channel) {
  const std::int64_t columns = weights.columns;
  double least = std::numeric_limits<double>::infinity();
  for (int choice = 0; choice < 1 << columns; ++choice) {
    RowLevels row = row_levels(tensor_of(weights), quantized, channel);
    for (std::int64_t k = 0; k < columns; ++k) {
      const LevelPair pair = grid.around(row.exact_level(k));
      row.levels[static_cast<std::size_t>(k)] = (choice >> k & 1) != 0 ? pair.up : pair.down;
    }
    set_row_levels(quantized, channel, row);
    least = std::min(least, error_of(quantized, problem, channel));
  }
  return least;
}

TEST(LearnedRounding, OfAllChoicesOfSixWeightsFindsTheBestInMostRowsAndNearlySoInTheOthers) {
  Random random(11);
  golden::ThreadTeam team(1);
  const LevelGrid grid = signed_grid(3);
  double excess = 0;
  double excess_before = 0;
  int best = 0;
  int nearest_is_best = 0;
  constexpr std::int64_t kRows = 60;
  const Matrix weights = random_weights(kRows, 6, random);
  const Matrix samples = correlated_samples(64, 6, random);
  const RoundingProblem problem = rounding_problem(weights, samples, samples, team);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const QuantizedWeights learned =
      round_adaptively(tensor_of(weights), nearest, grid, {problem}, {}, team);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const double least = least_error(weights, nearest, grid, problem, row);
    const double found = error_of(learned, problem, row);
    const double before = error_of(nearest, problem, row);
    const double slack = 1e-12 * std::abs(before);
    EXPECT_LE(found, before + slack) << "row " << row;
    EXPECT_GE(found, least - slack) << "row " << row;
    best += found <= least + slack ? 1 : 0;
    excess += found - least;
    excess_before += before - least;
    nearest_is_best += before <= least + slack ? 1 : 0;
  }
  EXPECT_GE(best, 40);
  EXPECT_LE(nearest_is_best, 25);  // else the rows would be too easy
  EXPECT_LE(excess, 0.15 * excess_before);
}

TEST(LearnedRounding, BringsTheSumsOfAQuantizedNetworkToThoseOfTheFloatOne) {
  Random random(12);
  golden::ThreadTeam team(1);
  const LevelGrid grid = signed_grid(4);
  const Matrix weights = random_weights(8, 40, random);
  const Matrix before = correlated_samples(300, 40, random);
  Matrix after = before;  // as if the layers before made everything a tenth larger
  for (float& value : after.values) value *= 1.1F;
  const RoundingProblem problem = rounding_problem(weights, after, before, team);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const QuantizedWeights learned =
      round_adaptively(tensor_of(weights), nearest, grid, {problem}, {}, team);
  const RoundingProblem symmetric = rounding_problem(weights, after, after, team);
  const QuantizedWeights blind =
      round_adaptively(tensor_of(weights), nearest, grid, {symmetric}, {}, team);
  for (std::int64_t row = 0; row < 8; ++row) {
    EXPECT_LT(error_of(learned, problem, row), error_of(nearest, problem, row));
    EXPECT_LT(error_of(learned, problem, row), error_of(blind, problem, row));
  }
}

TEST(LearnedRounding, ChoosesOnlyLevelsAroundEachWeightOfEveryGrid) {
  Random random(13);
  golden::ThreadTeam team(1);
  const Matrix weights = random_weights(6, 30, random);
  const Matrix samples = correlated_samples(100, 30, random);
  const RoundingProblem problem = rounding_problem(weights, samples, samples, team);
  const std::vector<std::pair<LevelGrid, std::int32_t>> grids = {
      {signed_grid(2), 0},                               // two levels below 0, one above
      {LevelGrid(Levels16{-1, 1}), 0},                   // one bit
      {LevelGrid(Levels16{-4, -2, -1, 0, 1, 2, 4}), 0},  // powers of two
      {LevelGrid(Levels16{0, 1, 2, 3, 4, 5, 6, 7}), 4},  // unsigned
  };
  for (const auto& [grid, zero_point] : grids) {
    const QuantizedWeights nearest = nearest_levels(weights, grid, zero_point);
    const QuantizedWeights learned =
        round_adaptively(tensor_of(weights), nearest, grid, {problem}, {}, team);
    EXPECT_EQ(learned.scales, nearest.scales);
    int moved = 0;
    double gain = 0;
    for (std::int64_t channel = 0; channel < 6; ++channel) {
      const RowLevels row = row_levels(tensor_of(weights), learned, channel);
      const RowLevels old = row_levels(tensor_of(weights), nearest, channel);
      gain += error_of(nearest, problem, channel) - error_of(learned, problem, channel);
      for (std::int64_t k = 0; k < 30; ++k) {
        const LevelPair pair = grid.around(row.exact_level(k));
        const std::int16_t level = row.levels[static_cast<std::size_t>(k)];
        EXPECT_TRUE(level == pair.down || level == pair.up) << level;
        moved += level != old.levels[static_cast<std::size_t>(k)] ? 1 : 0;
      }
    }
    EXPECT_GT(moved, 0);
    EXPECT_GT(gain, 0);
  }
}

TEST(LearnedRounding, LeavesChannelsOfZerosAndLayersWithoutInputs) {
  Random random(14);
  golden::ThreadTeam team(1);
  const LevelGrid grid = signed_grid(4);
  Matrix weights = random_weights(4, 12, random);
  std::fill(weights.row(2).begin(), weights.row(2).end(), 0.0F);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const Matrix zeros(20, 12);
  EXPECT_EQ(round_adaptively(tensor_of(weights), nearest, grid,
                             {rounding_problem(weights, zeros, zeros, team)}, {}, team),
            nearest);
  const Matrix samples = correlated_samples(40, 12, random);
  const QuantizedWeights learned =
      round_adaptively(tensor_of(weights), nearest, grid,
                       {rounding_problem(weights, samples, samples, team)}, {}, team);
  EXPECT_NE(learned, nearest);
  const RowLevels dead = row_levels(tensor_of(weights), learned, 2);
  EXPECT_EQ(dead.levels, std::vector<std::int16_t>(12, 0));
}

TEST(LearnedRounding, GivesTheSameBitsForAnyNumberOfThreadsWithOneGroupAndWithSeveral) {
  Random random(15);
  golden::ThreadTeam one(1);
  golden::ThreadTeam three(3);
  const LevelGrid grid = signed_grid(4);
  const Matrix weights = random_weights(60, 50, random);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const Matrix samples = correlated_samples(200, 50, random);
  const RoundingProblem whole = rounding_problem(weights, samples, samples, one);
  std::vector<RoundingProblem> groups;
  for (std::int64_t group = 0; group < 3; ++group) {
    Matrix part(20, 50);
    for (std::int64_t row = 0; row < 20; ++row) {
      std::copy_n(weights.row(group * 20 + row).begin(), 50, part.row(row).begin());
    }
    groups.push_back(rounding_problem(part, samples, samples, one));
  }
  const auto round = [&](const std::vector<RoundingProblem>& problems, golden::ThreadTeam& team) {
    return round_adaptively(tensor_of(weights), nearest, grid, problems, {.steps = 30}, team);
  };
  const QuantizedWeights expected = round({whole}, one);
  EXPECT_EQ(round({whole}, three), expected);
  // The same rows in three groups of the same inputs.
  EXPECT_EQ(round(groups, three), expected);
}

TEST(LevelGrid, HasTheLevelsOfTheSchemeAndRoundsTiesToTheEvenOne) {
  const WeightScheme four{.levels = {.bits = 4, .is_unsigned = false, .reduced = true}};
  EXPECT_EQ(LevelGrid(four).levels().front(), -7);
  EXPECT_EQ(LevelGrid(four).levels().size(), 15U);
  const WeightScheme one{.levels = {.bits = 1, .is_unsigned = false, .reduced = false}};
  EXPECT_EQ(LevelGrid(one).levels(), (std::vector<std::int16_t>{-1, 1}));
  WeightScheme log2{.levels = {.bits = 3, .is_unsigned = false}};
  log2.log2 = true;
  EXPECT_EQ(LevelGrid(log2).levels(), (std::vector<std::int16_t>{-4, -2, -1, 0, 1, 2, 4}));
  const LevelGrid grid(four);
  EXPECT_EQ(grid.around(2.25), (LevelPair{2, 3}));
  EXPECT_EQ(grid.around(-2.25), (LevelPair{-3, -2}));
  EXPECT_EQ(grid.around(3), (LevelPair{3, 3}));
  EXPECT_EQ(grid.around(99), (LevelPair{7, 7}));
  EXPECT_EQ(grid.around(-99), (LevelPair{-7, -7}));
  EXPECT_EQ(grid.nearest(2.5), 2);
  EXPECT_EQ(grid.nearest(3.5), 4);
  EXPECT_EQ(grid.nearest(-2.5), -2);
  EXPECT_EQ(grid.nearest(2.51), 3);
}

}  // namespace
}  // namespace qsim::quantize
