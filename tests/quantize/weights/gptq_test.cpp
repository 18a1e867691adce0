// GPTQ against the algorithm as it is published, in its slowest form.
#include "quantize/weights/gptq.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/quantize/weights/rounding_fixture.h"

namespace qsim::quantize {
namespace {

using Square = std::vector<std::vector<double>>;

// Inverts by Gauss-Jordan elimination.
Square inverse(Square a) {
  const std::size_t size = a.size();
  Square result(size, std::vector<double>(size));
  for (std::size_t i = 0; i < size; ++i) result[i][i] = 1;
  for (std::size_t pivot = 0; pivot < size; ++pivot) {
    const double value = a[pivot][pivot];
    for (std::size_t j = 0; j < size; ++j) {
      a[pivot][j] /= value;
      result[pivot][j] /= value;
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (i == pivot) continue;
      const double factor = a[i][pivot];
      for (std::size_t j = 0; j < size; ++j) {
        a[i][j] -= factor * a[pivot][j];
        result[i][j] -= factor * result[pivot][j];
      }
    }
  }
  return result;
}

// Frantar et al., equations 2 and 3: after each column the remaining weights take its error over,
// by the inverse of H without the columns that are done, which is computed anew every time.
std::vector<std::int16_t> textbook(const RowLevels& row, const Square& h,
                                   std::vector<std::size_t> order, const LevelGrid& grid) {
  std::vector<double> weights(row.weights.begin(), row.weights.end());
  std::vector<std::int16_t> levels(weights.size());
  while (!order.empty()) {
    Square rest(order.size(), std::vector<double>(order.size()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t j = 0; j < order.size(); ++j) rest[i][j] = h[order[i]][order[j]];
    }
    const Square left = inverse(rest);
    const std::size_t k = order[0];
    levels[k] = grid.nearest(weights[k] / row.scale + row.zero_point);
    const double lost = (weights[k] - (levels[k] - row.zero_point) * row.scale) / left[0][0];
    for (std::size_t i = 0; i < order.size(); ++i) weights[order[i]] -= lost * left[i][0];
    order.erase(order.begin());
  }
  return levels;
}

Square damped(const Matrix& gram, double damping) {
  const auto size = static_cast<std::size_t>(gram.columns);
  Square h(size, std::vector<double>(size));
  double trace = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) h[i][j] = gram.row(static_cast<std::int64_t>(i))[j];
    trace += h[i][i];
  }
  for (std::size_t i = 0; i < size; ++i) {
    h[i][i] = h[i][i] == 0 ? 1 : h[i][i] + damping * trace / static_cast<double>(size);
  }
  return h;
}

std::vector<std::size_t> column_order(const Square& h, bool large_inputs_first) {
  std::vector<std::size_t> order(h.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (large_inputs_first) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return h[a][a] > h[b][b]; });
  }
  return order;
}

TEST(Gptq, GivesTheLevelsOfThePublishedAlgorithmInBothOrders) {
  Random random(21);
  golden::ThreadTeam team(2);
  const LevelGrid grid = signed_grid(4);
  const Matrix weights = random_weights(20, 24, random);
  const Matrix samples = correlated_samples(80, 24, random);
  const RoundingProblem problem = rounding_problem(weights, samples, samples, team);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const Square h = damped(problem.gram, 0.01);
  for (const bool large_inputs_first : {false, true}) {
    const Gptq options{.large_inputs_first = large_inputs_first, .keeps_nearest_if_better = false};
    const QuantizedWeights rounded =
        round_by_gptq(tensor_of(weights), nearest, grid, {problem}, options, team);
    EXPECT_NE(rounded, nearest);
    for (std::int64_t channel = 0; channel < 20; ++channel) {
      const RowLevels row = row_levels(tensor_of(weights), rounded, channel);
      EXPECT_EQ(row.levels, textbook(row, h, column_order(h, large_inputs_first), grid)) << channel;
    }
  }
}

TEST(Gptq, LowersTheErrorOfMostRowsAndRaisesItInNone) {
  Random random(22);
  golden::ThreadTeam team(1);
  const LevelGrid grid = signed_grid(3);
  const Matrix weights = random_weights(40, 90, random);
  const Matrix samples = correlated_samples(60, 90, random);  // fewer than weights: G is singular
  const RoundingProblem problem = rounding_problem(weights, samples, samples, team);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const QuantizedWeights rounded =
      round_by_gptq(tensor_of(weights), nearest, grid, {problem}, {}, team);
  int lower = 0;
  for (std::int64_t row = 0; row < 40; ++row) {
    const double before = error_of(nearest, problem, row);
    const double after = error_of(rounded, problem, row);
    EXPECT_LE(after, before + 1e-12 * std::abs(before)) << row;
    lower += after < before ? 1 : 0;
  }
  EXPECT_GE(lower, 36);
}

TEST(Gptq, WeightsOfInputsThatAreAlwaysZeroGoToNearestAndChannelsOfZerosStay) {
  Random random(23);
  golden::ThreadTeam team(1);
  const LevelGrid grid = signed_grid(4);
  Matrix weights = random_weights(5, 16, random);
  std::fill(weights.row(1).begin(), weights.row(1).end(), 0.0F);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const Matrix zeros(30, 16);
  const Gptq as_published{.keeps_nearest_if_better = false};
  EXPECT_EQ(round_by_gptq(tensor_of(weights), nearest, grid,
                          {rounding_problem(weights, zeros, zeros, team)}, as_published, team),
            nearest);
  Matrix samples = correlated_samples(50, 16, random);
  for (std::int64_t row = 0; row < 50; ++row) samples.row(row)[7] = 0;
  const QuantizedWeights rounded =
      round_by_gptq(tensor_of(weights), nearest, grid,
                    {rounding_problem(weights, samples, samples, team)}, as_published, team);
  EXPECT_NE(rounded, nearest);
  for (std::int64_t channel = 0; channel < 5; ++channel) {
    const RowLevels row = row_levels(tensor_of(weights), rounded, channel);
    const RowLevels old = row_levels(tensor_of(weights), nearest, channel);
    EXPECT_EQ(row.levels[7], old.levels[7]);
    if (channel == 1) {
      EXPECT_EQ(row.levels, old.levels);
    }
  }
}

TEST(Gptq, GivesTheSameBitsForAnyNumberOfThreads) {
  Random random(24);
  golden::ThreadTeam one(1);
  golden::ThreadTeam three(3);
  const LevelGrid grid = signed_grid(4);
  const Matrix weights = random_weights(30, 150, random);
  const Matrix samples = correlated_samples(200, 150, random);
  const QuantizedWeights nearest = nearest_levels(weights, grid);
  const RoundingProblem problem = rounding_problem(weights, samples, samples, one);
  EXPECT_EQ(round_by_gptq(tensor_of(weights), nearest, grid, {problem}, {}, one),
            round_by_gptq(tensor_of(weights), nearest, grid, {problem}, {}, three));
}

}  // namespace
}  // namespace qsim::quantize
