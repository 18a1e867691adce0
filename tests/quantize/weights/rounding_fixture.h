// Small layers with correlated inputs, and the errors of their roundings in double, for the tests
// of learned rounding and GPTQ.
#pragma once

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "quantize/weights/level_grid.h"
#include "quantize/weights/rounding_problem.h"

namespace qsim::quantize {

inline float real_in(Random& random, double low, double high) {
  return static_cast<float>(low +
                            (high - low) * static_cast<double>(random.next() >> 11) * 0x1p-53);
}

// Samples whose columns share a part, so that the errors of weights can cancel.
inline Matrix correlated_samples(std::int64_t count, std::int64_t columns, Random& random) {
  Matrix samples(count, columns);
  for (std::int64_t row = 0; row < count; ++row) {
    const float shared = real_in(random, 0, 2);
    for (float& value : samples.row(row)) value = shared + real_in(random, -0.3, 0.3);
  }
  return samples;
}

inline Matrix random_weights(std::int64_t rows, std::int64_t columns, Random& random) {
  Matrix weights(rows, columns);
  for (float& value : weights.values) value = real_in(random, -1, 1);
  return weights;
}

inline Tensor tensor_of(const Matrix& matrix) {
  return make_tensor<float>({matrix.rows, matrix.columns}, matrix.values);
}

// To the nearest level, with one scale a row: that of `grid`'s ends.
inline QuantizedWeights nearest_levels(const Matrix& weights, const LevelGrid& grid,
                                       std::int32_t zero_point = 0) {
  QuantizedWeights quantized{Tensor(DType::kInt16, {weights.rows, weights.columns}), {}, {}};
  auto levels = quantized.levels.as<std::int16_t>();
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    float largest = 0;
    for (const float value : weights.row(row)) largest = std::max(largest, std::abs(value));
    const float scale =
        largest > 0 ? largest / static_cast<float>(grid.levels().back() - zero_point) : 1;
    quantized.scales.push_back(scale);
    quantized.zero_points.push_back(zero_point);
    for (std::int64_t k = 0; k < weights.columns; ++k) {
      const double exact =
          weights.row(row)[static_cast<std::size_t>(k)] / double{scale} + zero_point;
      levels[static_cast<std::size_t>(row * weights.columns + k)] = grid.nearest(exact);
    }
  }
  return quantized;
}

// Levels -8..7 and so on.
inline LevelGrid signed_grid(int bits) {
  std::vector<std::int16_t> levels;
  for (int level = -(1 << (bits - 1)); level < 1 << (bits - 1); ++level) {
    levels.push_back(static_cast<std::int16_t>(level));
  }
  return LevelGrid(std::move(levels));
}

// (w' G - 2 t) w'^T in double, term by term.
inline double error_of(const QuantizedWeights& quantized, const RoundingProblem& problem,
                       std::int64_t channel) {
  const auto columns = problem.gram.columns;
  const auto levels = quantized.levels.as<std::int16_t>();
  const auto index = static_cast<std::size_t>(channel);
  const auto real = [&](std::int64_t k) {
    return (levels[static_cast<std::size_t>(channel * columns + k)] -
            quantized.zero_points[index]) *
           double{quantized.scales[index]};
  };
  double error = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    error -= 2 * real(i) * double{problem.targets.row(channel)[static_cast<std::size_t>(i)]};
    for (std::int64_t j = 0; j < columns; ++j) {
      error += real(i) * real(j) * double{problem.gram.row(i)[static_cast<std::size_t>(j)]};
    }
  }
  return error;
}

}  // namespace qsim::quantize
