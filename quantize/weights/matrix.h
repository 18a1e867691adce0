// Dense float32 matrices, and the one product that learned rounding and GPTQ spend their time in.
// The same bits on every processor and for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "golden/common/thread_team.h"

namespace qsim::quantize {

// Row-major.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;

  Matrix() = default;
  // Of zeros.
  Matrix(std::int64_t row_count, std::int64_t column_count);

  std::span<float> row(std::int64_t index);
  std::span<const float> row(std::int64_t index) const;
  bool operator==(const Matrix&) const = default;
};

Matrix transpose(const Matrix& matrix);

// result = a * b. Each element is a sum over the inner axis in its order, in chunks of
// kProductChunk that each start at zero; every product and sum is rounded to float32 by itself (no
// fused multiply-add). `result` has the product's shape already.
inline constexpr std::int64_t kProductChunk = 256;
void multiply(const Matrix& a, const Matrix& b, Matrix& result, golden::ThreadTeam& team);

// samples^T * samples / rows: with one sample a row, the mean of x x^T. Symmetric to the bit. Of no
// sample: zeros.
Matrix gram_matrix(const Matrix& samples, golden::ThreadTeam& team);

}  // namespace qsim::quantize
