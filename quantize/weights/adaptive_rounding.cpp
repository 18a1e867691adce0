#include "quantize/weights/adaptive_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "quantize/weights/level_grid.h"
#include "quantize/weights/rounding_problem.h"
#include "quantize/weights/vector_clones.h"

namespace qsim::quantize {
namespace {

// The variables V of learned rounding (adaptive_rounding.h) and one step of Adam on them.

// Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015) with its usual
// decays, 0.9 and 0.999.
class AdamStep {
 public:
  explicit AdamStep(double learning_rate) : learning_rate_(learning_rate) {}

  // To the next step; before the first one too.
  void advance() {
    mean_left_ *= kMeanDecay;
    square_left_ *= kSquareDecay;
  }
  // What the running means are multiplied by, so that they are unbiased; the first with the rate.
  float mean_factor() const { return static_cast<float>(learning_rate_ / (1 - mean_left_)); }
  float square_factor() const { return static_cast<float>(1 / (1 - square_left_)); }

  static constexpr double kMeanDecay = 0.9;
  static constexpr double kSquareDecay = 0.999;

 private:
  double learning_rate_;
  double mean_left_ = 1;
  double square_left_ = 1;
};

struct StepRule {
  double lambda;
  int beta;  // at least 2
  const AdamStep& adam;
};

class RoundingVariables {
 public:
  struct Range {
    std::size_t first;
    std::size_t count;
  };

  explicit RoundingVariables(std::int64_t count);

  // A weight between `down` and `down + step` (0: it has no choice), `share` of the way up: V
  // starts where h is the share. Its error counts `weight_of_error` times.
  void set(std::size_t index, double down, double step, double share, double weight_of_error);
  // reals[i] = down + h step of the range's weights.
  void soften(Range range, float* reals) const;
  // One step of Adam. sums and targets: w' G and t of the range's weights.
  void descend(Range range, const float* sums, const float* targets, const StepRule& rule);
  // The hard choice: h of at least one half.
  bool is_up(std::size_t index) const { return v_[index] >= 0; }

 private:
  std::vector<float> v_;
  std::vector<float> down_;
  std::vector<float> step_;
  std::vector<float> error_weight_;
  std::vector<float> mean_;    // of Adam's gradients
  std::vector<float> square_;  // of their squares
};

// The sigmoid is stretched to -0.1..1.1 and cut, so that h reaches 0 and 1.
constexpr float kStretch = 1.2F;
constexpr float kBelow = -0.1F;
constexpr float kMostV = 12;  // beyond it h has long been 0 or 1

// e^x for |x| <= kMostV, by 2^n e^r with |r| <= ln(2) / 2 and the Taylor series of e^r, whose error
// is below 2^-22. Not the C library's, whose bits depend on the processor.
inline float exponential(float x) {
  constexpr float kRound = 0x1.8p23F;  // the sum with it has no fraction bits
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float sum = 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1;
  sum = sum * r + 1;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127);
  return sum * std::bit_cast<float>(exponent << 23);
}

inline float sigmoid(float v) { return 1 / (1 + exponential(-v)); }

inline float cut(float stretched) { return std::min(1.0F, std::max(0.0F, stretched)); }

// The v whose sigmoid is `s`, 0.08 to 0.92, by Newton's steps: from 0 they do not overshoot.
float inverse_sigmoid(float s) {
  float v = 0;
  for (int step = 0; step < 8; ++step) {
    const float found = sigmoid(v);
    v += (s - found) / (found * (1 - found));
  }
  return v;
}

// base^exponent, exponent of 1 to 31.
inline float power(float base, int exponent) {
  float result = 1;
  float square = base;
#pragma GCC unroll 5
  for (int bit = 0; bit < 5; ++bit) {
    result *= (exponent >> bit & 1) != 0 ? square : 1.0F;
    square *= square;
  }
  return result;
}

QSIM_QUANTIZE_CLONES void soften_weights(const float* v, const float* down, const float* step,
                                         std::size_t count, float* reals) {
  for (std::size_t i = 0; i < count; ++i) {
    reals[i] = down[i] + step[i] * cut(kStretch * sigmoid(v[i]) + kBelow);
  }
}

struct Weights {
  float* v;
  float* mean;
  float* square;
  const float* step;
  const float* error_weight;
  const float* sums;
  const float* targets;
};

QSIM_QUANTIZE_CLONES void descend_weights(const Weights& w, std::size_t count, float lambda,
                                          int beta, float mean_factor, float square_factor) {
  constexpr auto kMean = static_cast<float>(AdamStep::kMeanDecay);
  constexpr auto kSquare = static_cast<float>(AdamStep::kSquareDecay);
  constexpr float kTiny = 1e-8F;
  const float regulariser = -2 * lambda * static_cast<float>(beta);
  for (std::size_t i = 0; i < count; ++i) {
    const float s = sigmoid(w.v[i]);
    const float stretched = kStretch * s + kBelow;
    const float h = cut(stretched);
    const float slope = stretched > 0 && stretched < 1 ? kStretch * s * (1 - s) : 0;
    const float centred = 2 * h - 1;
    const float steep = power(std::abs(centred), beta - 1);
    const float of_error = 2 * (w.sums[i] - w.targets[i]) * w.step[i] * w.error_weight[i];
    const float gradient = (of_error + regulariser * (centred < 0 ? -steep : steep)) * slope;
    w.mean[i] = kMean * w.mean[i] + (1 - kMean) * gradient;
    w.square[i] = kSquare * w.square[i] + (1 - kSquare) * gradient * gradient;
    const float change = mean_factor * w.mean[i] / (std::sqrt(square_factor * w.square[i]) + kTiny);
    w.v[i] = std::min(kMostV, std::max(-kMostV, w.v[i] - change));
  }
}

RoundingVariables::RoundingVariables(std::int64_t count)
    : v_(static_cast<std::size_t>(count)),
      down_(v_.size()),
      step_(v_.size()),
      error_weight_(v_.size()),
      mean_(v_.size()),
      square_(v_.size()) {}

void RoundingVariables::set(std::size_t index, double down, double step, double share,
                            double weight_of_error) {
  v_[index] = inverse_sigmoid((static_cast<float>(share) - kBelow) / kStretch);
  down_[index] = static_cast<float>(down);
  step_[index] = static_cast<float>(step);
  error_weight_[index] = static_cast<float>(weight_of_error);
}

void RoundingVariables::soften(Range range, float* reals) const {
  soften_weights(v_.data() + range.first, down_.data() + range.first, step_.data() + range.first,
                 range.count, reals);
}

void RoundingVariables::descend(Range range, const float* sums, const float* targets,
                                const StepRule& rule) {
  const std::size_t first = range.first;
  const Weights weights{v_.data() + first,
                        mean_.data() + first,
                        square_.data() + first,
                        step_.data() + first,
                        error_weight_.data() + first,
                        sums,
                        targets};
  descend_weights(weights, range.count, static_cast<float>(rule.lambda), rule.beta,
                  rule.adam.mean_factor(), rule.adam.square_factor());
}

// The last step of learned rounding: single weights change sides while that lowers the error.

// Moves a weight of the row between the two levels around its exact value where the error falls by
// it: d g + d^2 G_kk < 0 for a change of d and the gradient g. Passes over the row until no weight
// moves, at most kMostPasses. Keeps row.gradient and row.error up to date.
constexpr int kMostPasses = 20;

QSIM_QUANTIZE_CLONES void add_multiple(double* sums, const float* values, double factor,
                                       std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += factor * static_cast<double>(values[i]);
}

// Whether it moved.
bool flip_if_better(JudgedRow& judged, std::size_t k, const Matrix& gram, const LevelPair& pair) {
  RowLevels& row = judged.row;
  std::int16_t& level = row.levels[k];
  const bool is_choice = pair.up != pair.down && (level == pair.down || level == pair.up);
  if (!is_choice) return false;
  const std::int16_t other = level == pair.down ? pair.up : pair.down;
  const double change = (other - level) * row.scale;
  const std::span<const float> column = gram.row(static_cast<std::int64_t>(k));
  const double gain =
      -(change * judged.gradient[k] + change * change * static_cast<double>(column[k]));
  // A gain within the rounding errors of the gradient might go back and forth.
  constexpr double kLeastShare = 1e-9;
  if (!(gain > kLeastShare * change * change * static_cast<double>(column[k]))) return false;
  level = other;
  judged.error -= gain;
  add_multiple(judged.gradient.data(), column.data(), 2 * change, column.size());
  return true;
}

void flip_while_better(JudgedRow& judged, const Matrix& gram, const LevelGrid& grid) {
  const std::size_t columns = judged.row.levels.size();
  std::vector<LevelPair> pairs(columns);
  for (std::size_t k = 0; k < columns; ++k) {
    pairs[k] = grid.around(judged.row.exact_level(static_cast<std::int64_t>(k)));
  }
  bool moved = true;
  for (int pass = 0; moved && pass < kMostPasses; ++pass) {
    moved = false;
    for (std::size_t k = 0; k < columns; ++k) {
      moved = flip_if_better(judged, k, gram, pairs[k]) || moved;
    }
  }
}

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
