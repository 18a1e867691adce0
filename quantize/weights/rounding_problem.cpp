#include "quantize/weights/rounding_problem.h"

#include <algorithm>

#include "quantize/weights/vector_clones.h"

namespace qsim::quantize {
namespace {

QSIM_QUANTIZE_CLONES void add_multiple(double* sums, const float* values, double factor,
                                       std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * static_cast<double>(values[i]);
}

std::size_t parameter_of(const QuantizedWeights& quantized, std::int64_t channel) {
  return quantized.scales.size() == 1 ? 0 : static_cast<std::size_t>(channel);
}

}  // namespace

RoundingProblem rounding_problem(const Matrix& weights, const Matrix& quantized_inputs,
                                 const Matrix& float_inputs, golden::ThreadTeam& team) {
  RoundingProblem problem{gram_matrix(quantized_inputs, team),
                          Matrix(weights.rows, weights.columns)};
  if (quantized_inputs.rows == 0) return problem;
  Matrix outputs(weights.rows, float_inputs.rows);
  multiply(weights, transpose(float_inputs), outputs, team);
  multiply(outputs, quantized_inputs, problem.targets, team);
  const auto count = static_cast<float>(quantized_inputs.rows);
  for (float& value : problem.targets.values) value /= count;
  return problem;
}

RowLevels row_levels(const Tensor& weights, const QuantizedWeights& quantized,
                     std::int64_t channel) {
  const auto columns = static_cast<std::size_t>(weights.elems() / weights.shape[0]);
  const std::size_t first = static_cast<std::size_t>(channel) * columns;
  const auto reals = weights.as<float>().subspan(first, columns);
  const auto levels = quantized.levels.as<std::int16_t>().subspan(first, columns);
  const std::size_t parameter = parameter_of(quantized, channel);
  return {.weights = {reals.begin(), reals.end()},
          .levels = {levels.begin(), levels.end()},
          .scale = quantized.scales[parameter],
          .zero_point = quantized.zero_points[parameter]};
}

void set_row_levels(QuantizedWeights& quantized, std::int64_t channel, const RowLevels& row) {
  std::copy(row.levels.begin(), row.levels.end(),
            quantized.levels.as<std::int16_t>().begin() +
                channel * static_cast<std::ptrdiff_t>(row.levels.size()));
}

std::vector<JudgedRow> judge_rows(std::vector<RowLevels> rows, const RoundingProblem& problem,
                                  std::int64_t first) {
  const std::int64_t columns = problem.gram.columns;
  std::vector<JudgedRow> judged;
  for (RowLevels& row : rows) {
    judged.push_back({std::move(row), std::vector<double>(static_cast<std::size_t>(columns)), 0});
  }
  for (std::int64_t k = 0; k < columns; ++k) {
    const float* gram = problem.gram.row(k).data();
    for (JudgedRow& each : judged) {
      const double weight = each.row.real(k);
      if (weight != 0) add_multiple(each.gradient.data(), gram, weight, columns);
    }
  }
  for (std::size_t i = 0; i < judged.size(); ++i) {
    JudgedRow& each = judged[i];
    const auto targets = problem.targets.row(first + static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < targets.size(); ++k) {
      const double sum = each.gradient[k];
      const double target = targets[k];
      each.error += each.row.real(static_cast<std::int64_t>(k)) * (sum - 2 * target);
      each.gradient[k] = 2 * (sum - target);
    }
  }
  return judged;
}

}  // namespace qsim::quantize
