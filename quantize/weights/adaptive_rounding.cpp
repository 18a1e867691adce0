#include "quantize/weights/adaptive_rounding.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "quantize/weights/flips.h"
#include "quantize/weights/rounding_variables.h"

namespace qsim::quantize {
namespace {

// The learned rounding of one group: channels first..first + rows - 1 of the layer.
class Group {
 public:
  Group(const Tensor& weights, const QuantizedWeights& nearest, const LevelGrid& grid,
        const RoundingProblem& problem, std::int64_t first)
      : weights_(weights),
        nearest_(nearest),
        grid_(grid),
        problem_(problem),
        first_(first),
        rows_(problem.targets.rows),
        columns_(problem.targets.columns),
        variables_(rows_ * columns_),
        soft_(rows_, columns_),
        sums_(rows_, columns_) {
    for (std::int64_t row = 0; row < rows_; ++row) start(row);
  }

  void learn(const AdaptiveRounding& options, golden::ThreadTeam& team) {
    const int free_steps = options.steps / 5;
    AdamStep adam(options.learning_rate);
    for (int step = 0; step < options.steps; ++step) {
      const bool is_free = step < free_steps;
      adam.advance();
      const StepRule rule{is_free ? 0 : options.lambda,
                          kMostBeta - (kMostBeta - kLeastBeta) * (step - free_steps) /
                                          std::max(1, options.steps - free_steps - 1),
                          adam};
      for_rows(team,
               [&](std::int64_t row) { variables_.soften(range(row), soft_.row(row).data()); });
      multiply(soft_, problem_.gram, sums_, team);
      for_rows(team, [&](std::int64_t row) {
        variables_.descend(range(row), sums_.row(row).data(), problem_.targets.row(row).data(),
                           rule);
      });
    }
  }

  // To hard choices, in `result`.
  void finish(QuantizedWeights& result, golden::ThreadTeam& team) const {
    const auto parts = static_cast<std::size_t>((rows_ + kRowsAtOnce - 1) / kRowsAtOnce);
    team.run(parts, [&](std::size_t part) {
      finish_rows(static_cast<std::int64_t>(part) * kRowsAtOnce, result);
    });
  }

 private:
  static constexpr int kMostBeta = 20;
  static constexpr int kLeastBeta = 2;

  RoundingVariables::Range range(std::int64_t row) const {
    return {static_cast<std::size_t>(row * columns_), static_cast<std::size_t>(columns_)};
  }

  void for_rows(golden::ThreadTeam& team, const std::function<void(std::int64_t)>& work) const {
    team.run(static_cast<std::size_t>(rows_),
             [&](std::size_t row) { work(static_cast<std::int64_t>(row)); });
  }

  void start(std::int64_t row) {
    const RowLevels levels = row_levels(weights_, nearest_, first_ + row);
    double trace = 0;
    for (std::int64_t k = 0; k < columns_; ++k)
      trace += problem_.gram.row(k)[static_cast<std::size_t>(k)];
    const double unit = levels.scale * levels.scale / 12 * trace / static_cast<double>(columns_);
    for (std::int64_t k = 0; k < columns_; ++k) {
      const double exact = levels.exact_level(k);
      const LevelPair pair = choices(levels, k);
      const double down = (pair.down - levels.zero_point) * levels.scale;
      const double step = (pair.up - pair.down) * levels.scale;
      const double share = pair.up == pair.down ? 0 : (exact - pair.down) / (pair.up - pair.down);
      variables_.set(static_cast<std::size_t>(row * columns_ + k), down, step, share,
                     unit > 0 ? 1 / unit : 0);
    }
  }

  // What a weight may become. Of a channel of zeros, and where no sample is, it stays.
  LevelPair choices(const RowLevels& levels, std::int64_t column) const {
    const auto k = static_cast<std::size_t>(column);
    const bool is_dead = std::all_of(levels.weights.begin(), levels.weights.end(),
                                     [](float weight) { return weight == 0; });
    if (is_dead) return {levels.levels[k], levels.levels[k]};
    return grid_.around(levels.exact_level(column));
  }

  void finish_rows(std::int64_t begin, QuantizedWeights& result) const {
    const std::int64_t end = std::min(begin + kRowsAtOnce, rows_);
    std::vector<RowLevels> nearest;
    std::vector<RowLevels> learned;
    for (std::int64_t row = begin; row < end; ++row) {
      nearest.push_back(row_levels(weights_, nearest_, first_ + row));
      learned.push_back(nearest.back());
      for (std::int64_t k = 0; k < columns_; ++k) {
        const LevelPair pair = choices(nearest.back(), k);
        const bool is_up = variables_.is_up(static_cast<std::size_t>(row * columns_ + k));
        learned.back().levels[static_cast<std::size_t>(k)] = is_up ? pair.up : pair.down;
      }
    }
    std::vector<JudgedRow> before = judge_rows(std::move(nearest), problem_, begin);
    std::vector<JudgedRow> after = judge_rows(std::move(learned), problem_, begin);
    for (std::size_t i = 0; i < after.size(); ++i) {
      flip_while_better(before[i], problem_.gram, grid_);
      flip_while_better(after[i], problem_.gram, grid_);
      const bool is_better = after[i].error < before[i].error;
      set_row_levels(result, first_ + begin + static_cast<std::int64_t>(i),
                     is_better ? after[i].row : before[i].row);
    }
  }

  const Tensor& weights_;
  const QuantizedWeights& nearest_;
  const LevelGrid& grid_;
  const RoundingProblem& problem_;
  std::int64_t first_;
  std::int64_t rows_;
  std::int64_t columns_;
  RoundingVariables variables_;
  Matrix soft_;
  Matrix sums_;
};

// Where each group's channels begin.
std::vector<std::int64_t> first_channels(const std::vector<RoundingProblem>& problems) {
  std::vector<std::int64_t> firsts;
  std::int64_t first = 0;
  for (const RoundingProblem& problem : problems) {
    firsts.push_back(first);
    first += problem.targets.rows;
  }
  return firsts;
}

}  // namespace

QuantizedWeights round_adaptively(const Tensor& weights, const QuantizedWeights& nearest,
                                  const LevelGrid& grid,
                                  const std::vector<RoundingProblem>& problems,
                                  const AdaptiveRounding& options, golden::ThreadTeam& team) {
  QuantizedWeights result = nearest;
  const std::vector<std::int64_t> firsts = first_channels(problems);
  const auto round_group = [&](std::size_t index, golden::ThreadTeam& threads) {
    Group group(weights, nearest, grid, problems[index], firsts[index]);
    group.learn(options, threads);
    group.finish(result, threads);
  };
  if (problems.size() == 1) {
    round_group(0, team);
    return result;
  }
  team.run(problems.size(), [&](std::size_t index) {
    golden::ThreadTeam alone(1);
    round_group(index, alone);
  });
  return result;
}

}  // namespace qsim::quantize
