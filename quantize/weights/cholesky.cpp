#include "quantize/weights/cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quantize/weights/vector_clones.h"

namespace qsim::quantize {
namespace {

using Lanes = double __attribute__((vector_size(64)));
constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kTile = 4;

inline double total(const Lanes& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// products[i][j] = dot(a + i * stride, b + j * stride, count), of kTile rows each; count is a
// multiple of kLanes.
QSIM_QUANTIZE_CLONES void multiply_rows(const double* a, const double* b, std::int64_t stride,
                                        std::int64_t count, double* products) {
  Lanes sums[kTile][kTile] = {};
  for (std::int64_t k = 0; k < count; k += kLanes) {
    Lanes left[kTile];
    Lanes right[kTile];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < kTile; ++i) {
      std::memcpy(&left[i], a + i * stride + k, sizeof(Lanes));
      std::memcpy(&right[i], b + i * stride + k, sizeof(Lanes));
    }
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < kTile; ++i) {
#pragma GCC unroll 4
      for (std::int64_t j = 0; j < kTile; ++j) sums[i][j] += left[i] * right[j];
    }
  }
  for (std::int64_t i = 0; i < kTile; ++i) {
    for (std::int64_t j = 0; j < kTile; ++j) products[i * kTile + j] = total(sums[i][j]);
  }
}

QSIM_QUANTIZE_CLONES double dot_lanes(const double* a, const double* b, std::int64_t count) {
  Lanes sums = {};
  std::int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    Lanes left;
    Lanes right;
    std::memcpy(&left, a + k, sizeof(Lanes));
    std::memcpy(&right, b + k, sizeof(Lanes));
    sums += left * right;
  }
  double sum = total(sums);
  for (; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

// matrix[row][column] -= the product of the factor's columns 0..depth - 1, for a tile at its row
// and column (cut at the ends); depth is a multiple of kBlock.
void subtract_tile(Triangle& matrix, std::int64_t row, std::int64_t row_end, std::int64_t column,
                   std::int64_t column_end, std::int64_t depth) {
  if (row + kTile <= row_end && column + kTile <= column_end) {
    double products[kTile * kTile];
    multiply_rows(matrix.row(row), matrix.row(column), matrix.size, depth, products);
    for (std::int64_t i = 0; i < kTile; ++i) {
      for (std::int64_t j = 0; j < kTile; ++j) {
        matrix.row(row + i)[column + j] -= products[i * kTile + j];
      }
    }
    return;
  }
  for (std::int64_t i = row; i < std::min(row + kTile, row_end); ++i) {
    for (std::int64_t j = column; j < std::min(column + kTile, column_end); ++j) {
      matrix.row(i)[j] -= dot_lanes(matrix.row(i), matrix.row(j), depth);
    }
  }
}

// Rows row..row_end - 1 of the block of columns first..end - 1.
void subtract_rows(Triangle& matrix, std::int64_t row, std::int64_t row_end, std::int64_t first,
                   std::int64_t end) {
  for (std::int64_t i = row; i < row_end; i += kTile) {
    for (std::int64_t j = first; j < end; j += kTile) {
      subtract_tile(matrix, i, row_end, j, end, first);
    }
  }
}

bool factor_diagonal_block(Triangle& matrix, std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) {
    double* row = matrix.row(i);
    for (std::int64_t j = first; j <= i; ++j) {
      const double* other = matrix.row(j);
      const double rest = row[j] - dot_lanes(row + first, other + first, j - first);
      if (j < i) {
        row[j] = rest / other[j];
      } else {
        if (!(rest > 0) || !std::isfinite(rest)) return false;
        row[j] = std::sqrt(rest);
      }
    }
  }
  return true;
}

// row := row of A times the inverse of the diagonal block's transpose.
void solve_rows(Triangle& matrix, std::int64_t row_begin, std::int64_t row_end, std::int64_t first,
                std::int64_t end) {
  for (std::int64_t i = row_begin; i < row_end; ++i) {
    double* row = matrix.row(i);
    for (std::int64_t j = first; j < end; ++j) {
      const double* other = matrix.row(j);
      row[j] = (row[j] - dot_lanes(row + first, other + first, j - first)) / other[j];
    }
  }
}

}  // namespace

Triangle::Triangle(std::int64_t length)
    : size(length), values(static_cast<std::size_t>(length * length)) {}

bool factor(Triangle& matrix, golden::ThreadTeam& team) {
  for (std::int64_t first = 0; first < matrix.size; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, matrix.size);
    subtract_rows(matrix, first, end, first, end);
    if (!factor_diagonal_block(matrix, first, end)) return false;
    const auto parts = static_cast<std::size_t>((matrix.size - end + kBlock - 1) / kBlock);
    team.run(parts, [&](std::size_t part) {
      const std::int64_t row = end + static_cast<std::int64_t>(part) * kBlock;
      const std::int64_t row_end = std::min(row + kBlock, matrix.size);
      subtract_rows(matrix, row, row_end, first, end);
      solve_rows(matrix, row, row_end, first, end);
    });
  }
  return true;
}

double dot(const double* a, const double* b, std::int64_t count) { return dot_lanes(a, b, count); }

}  // namespace qsim::quantize
