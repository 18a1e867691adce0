#include "quantize/weights/gptq.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "quantize/weights/cholesky.h"

namespace qsim::quantize {
namespace {

std::size_t at(const Matrix& matrix, std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(row * matrix.columns + column);
}

// The columns from the last to be rounded to the first.
std::vector<std::int64_t> reversed_order(const Matrix& gram, bool large_inputs_first) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(gram.columns));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (large_inputs_first) {
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return gram.values[at(gram, a, a)] > gram.values[at(gram, b, b)];
    });
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// H in the order's columns.
Triangle damped(const Matrix& gram, const std::vector<std::int64_t>& order, double damping) {
  double trace = 0;
  for (const std::int64_t k : order) trace += static_cast<double>(gram.values[at(gram, k, k)]);
  const double added = damping * trace / static_cast<double>(order.size());
  Triangle h(gram.columns);
  for (std::int64_t a = 0; a < h.size; ++a) {
    const std::int64_t row = order[static_cast<std::size_t>(a)];
    for (std::int64_t b = 0; b <= a; ++b) {
      h.row(a)[b] =
          static_cast<double>(gram.values[at(gram, row, order[static_cast<std::size_t>(b)])]);
    }
    const bool is_dead = h.row(a)[a] == 0;
    h.row(a)[a] = is_dead ? 1 : h.row(a)[a] + added;
  }
  return h;
}

// L^T with each row divided by its diagonal: row a has L_ba / L_aa at b > a.
Triangle feedback_of(const Triangle& factor) {
  constexpr std::int64_t kBlock = 32;
  Triangle feedback(factor.size);
  for (std::int64_t first = 0; first < factor.size; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, factor.size);
    for (std::int64_t b = first; b < factor.size; ++b) {
      for (std::int64_t a = first; a < std::min(b, end); ++a) {
        feedback.row(a)[b] = factor.row(b)[a] / factor.row(a)[a];
      }
    }
  }
  return feedback;
}

// Double the damping until H can be factored, which rounding errors of G may prevent.
Triangle factored_feedback(const Matrix& gram, const std::vector<std::int64_t>& order,
                           double damping, golden::ThreadTeam& team) {
  constexpr int kMostTrials = 60;
  for (int trial = 0; trial < kMostTrials; ++trial) {
    Triangle h = damped(gram, order, damping);
    if (factor(h, team)) return feedback_of(h);
    damping = std::max(2 * damping, 1e-6);
  }
  QSIM_CHECK(false, "GPTQ: with finite inputs, some damping lets H be factored");
}

bool is_dead(const RowLevels& row) {
  return std::all_of(row.weights.begin(), row.weights.end(),
                     [](float weight) { return weight == 0; });
}

// Rounds rows side by side, so that the feedback passes through the caches once for all of them.
void round_rows(std::vector<RowLevels>& rows, const Triangle& feedback,
                const std::vector<std::int64_t>& order, const LevelGrid& grid) {
  const auto columns = static_cast<std::size_t>(feedback.size);
  std::vector<double> differences(rows.size() * columns);  // d of each row
  for (std::int64_t a = feedback.size - 1; a >= 0; --a) {
    const auto k = static_cast<std::size_t>(order[static_cast<std::size_t>(a)]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      RowLevels& row = rows[i];
      double* difference = differences.data() + i * columns + a;
      const double lost = dot(feedback.row(a) + a + 1, difference + 1, feedback.size - a - 1);
      const double weight = row.weights[k];
      row.levels[k] = grid.nearest((weight - lost) / row.scale + row.zero_point);
      *difference = row.real(static_cast<std::int64_t>(k)) - weight;
    }
  }
}

struct GroupTask {
  const Tensor& weights;
  const QuantizedWeights& nearest;
  const LevelGrid& grid;
  const RoundingProblem& problem;
  std::int64_t first;  // channel
  const Gptq& options;
};

// Rows begin..end - 1 of the group. A channel of zeros stays.
void round_part(const GroupTask& task, const Triangle& feedback,
                const std::vector<std::int64_t>& order, std::int64_t begin, std::int64_t end,
                QuantizedWeights& result) {
  std::vector<RowLevels> nearest;
  for (std::int64_t row = begin; row < end; ++row) {
    nearest.push_back(row_levels(task.weights, task.nearest, task.first + row));
  }
  std::vector<RowLevels> rounded = nearest;
  round_rows(rounded, feedback, order, task.grid);
  const std::vector<JudgedRow> before = judge_rows(std::move(nearest), task.problem, begin);
  const std::vector<JudgedRow> after = judge_rows(std::move(rounded), task.problem, begin);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool is_worse =
        task.options.keeps_nearest_if_better && !(after[i].error < before[i].error);
    set_row_levels(result, task.first + begin + static_cast<std::int64_t>(i),
                   is_worse || is_dead(before[i].row) ? before[i].row : after[i].row);
  }
}

void round_group(const GroupTask& task, QuantizedWeights& result, golden::ThreadTeam& team) {
  const std::vector<std::int64_t> order =
      reversed_order(task.problem.gram, task.options.large_inputs_first);
  const Triangle feedback = factored_feedback(task.problem.gram, order, task.options.damping, team);
  const std::int64_t rows = task.problem.targets.rows;
  team.run(static_cast<std::size_t>((rows + kRowsAtOnce - 1) / kRowsAtOnce), [&](std::size_t part) {
    const std::int64_t begin = static_cast<std::int64_t>(part) * kRowsAtOnce;
    round_part(task, feedback, order, begin, std::min(begin + kRowsAtOnce, rows), result);
  });
}

}  // namespace

QuantizedWeights round_by_gptq(const Tensor& weights, const QuantizedWeights& nearest,
                               const LevelGrid& grid, const std::vector<RoundingProblem>& problems,
                               const Gptq& options, golden::ThreadTeam& team) {
  QuantizedWeights result = nearest;
  std::int64_t first = 0;
  for (const RoundingProblem& problem : problems) {
    round_group({weights, nearest, grid, problem, first, options}, result, team);
    first += problem.targets.rows;
  }
  return result;
}

}  // namespace qsim::quantize
