// What the rounding of a layer's weights is judged by: the error of its sums over sampled
// positions, which depends on the inputs by their Gram matrix alone. Learned rounding and GPTQ
// minimise it.
//
// One group of a layer (all of it where it has one group): W its weights, a row an output channel
// and a column an input of the sum; x the inputs of the quantized network at a position, z those of
// the float network. The error of a row w' is the mean of (w' x - w z)^2
//   = w' G w'^T - 2 t w'^T + constant, where G = mean of x x^T, t = mean of (w z) x^T.
#pragma once

#include <cstdint>
#include <vector>

#include "quantize/weights/level_grid.h"
#include "quantize/weights/matrix.h"
#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {

struct RoundingProblem {
  Matrix gram;     // G, [columns][columns]
  Matrix targets;  // t, [rows][columns]; W G where the network before is the float one
};

// The problem of weights W and samples x and z (one a row, as many of each).
RoundingProblem rounding_problem(const Matrix& weights, const Matrix& quantized_inputs,
                                 const Matrix& float_inputs, golden::ThreadTeam& team);

// A row's weights in their levels, and what it takes to read and change them.
struct RowLevels {
  std::vector<float> weights;  // as they were
  std::vector<std::int16_t> levels;
  double scale = 1;
  std::int32_t zero_point = 0;

  double real(std::int64_t column) const {
    return (levels[static_cast<std::size_t>(column)] - zero_point) * scale;
  }
  // What `levels` would be without rounding.
  double exact_level(std::int64_t column) const {
    return weights[static_cast<std::size_t>(column)] / scale + zero_point;
  }
};

// Output channel `channel` of a layer.
RowLevels row_levels(const Tensor& weights, const QuantizedWeights& quantized,
                     std::int64_t channel);
void set_row_levels(QuantizedWeights& quantized, std::int64_t channel, const RowLevels& row);

// A row, and what the problem says of it as it is.
struct JudgedRow {
  RowLevels row;
  std::vector<double> gradient;  // 2 (w' G - t): how the error grows with each weight
  double error = 0;              // w' G w'^T - 2 t w'^T
};

// Rows that follow each other in the problem, from its row `first` on. G passes through the caches
// once for all of them, so several at once cost less than each by itself.
inline constexpr std::int64_t kRowsAtOnce = 8;
std::vector<JudgedRow> judge_rows(std::vector<RowLevels> rows, const RoundingProblem& problem,
                                  std::int64_t first);

}  // namespace qsim::quantize
