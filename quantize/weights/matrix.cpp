#include "quantize/weights/matrix.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "quantize/weights/vector_clones.h"

namespace qsim::quantize {
namespace {

constexpr std::int64_t kTileRows = 6;
constexpr std::int64_t kTileColumns = 32;
constexpr std::int64_t kPanelColumns = 256;  // of b, packed: kProductChunk rows of it fit the L2
constexpr std::int64_t kPartRows = 48;

// GCC and clang keep these in vector registers; plain arrays they would spill.
using Lanes = float __attribute__((vector_size(64)));
constexpr std::int64_t kLanes = 16;

// A tile of the result: rows of `a` (kTileRows of them, `stride` apart) times packed columns.
struct Tile {
  const float* a;
  std::int64_t stride;
  const float* packed;  // [depth][kTileColumns]
  std::int64_t depth;
};

QSIM_QUANTIZE_CLONES void multiply_tile(const Tile& tile, float* sums) {
  Lanes left[kTileRows] = {};
  Lanes right[kTileRows] = {};
  for (std::int64_t k = 0; k < tile.depth; ++k) {
    Lanes b_left;
    Lanes b_right;
    std::memcpy(&b_left, tile.packed + k * kTileColumns, sizeof(Lanes));
    std::memcpy(&b_right, tile.packed + k * kTileColumns + kLanes, sizeof(Lanes));
#pragma GCC unroll 6
    for (std::int64_t row = 0; row < kTileRows; ++row) {
      const float value = tile.a[row * tile.stride + k];
      left[row] += b_left * value;
      right[row] += b_right * value;
    }
  }
  for (std::int64_t row = 0; row < kTileRows; ++row) {
    std::memcpy(sums + row * kTileColumns, &left[row], sizeof(Lanes));
    std::memcpy(sums + row * kTileColumns + kLanes, &right[row], sizeof(Lanes));
  }
}

// Rows first..end of the result, its columns from `column_begin` on.
class PartOfProduct {
 public:
  PartOfProduct(const Matrix& a, const Matrix& b, Matrix& result, std::int64_t first)
      : a_(a),
        b_(b),
        result_(result),
        first_(first),
        end_(std::min(first + kPartRows, result.rows)),
        packed_(kProductChunk * kPanelColumns),
        last_rows_(kTileRows * kProductChunk) {}

  void run(std::int64_t column_begin) {
    for (std::int64_t column = column_begin; column < b_.columns; column += kPanelColumns) {
      for (std::int64_t k = 0; k < b_.rows; k += kProductChunk) add_panel(k, column);
    }
  }

 private:
  void add_panel(std::int64_t k, std::int64_t column) {
    const std::int64_t depth = std::min(kProductChunk, b_.rows - k);
    const std::int64_t end = std::min(column + kPanelColumns, b_.columns);
    for (std::int64_t begin = column; begin < end; begin += kTileColumns) {
      pack(k, depth, begin, packed_.data() + (begin - column) * kProductChunk);
    }
    for (std::int64_t row = first_; row < end_; row += kTileRows) {
      const Tile tile = rows_of_a(row, k, depth);
      for (std::int64_t begin = column; begin < end; begin += kTileColumns) {
        add_tile(tile, row, begin, packed_.data() + (begin - column) * kProductChunk);
      }
    }
  }

  void pack(std::int64_t k, std::int64_t depth, std::int64_t column, float* packed) const {
    const std::int64_t count = std::min(kTileColumns, b_.columns - column);
    for (std::int64_t i = 0; i < depth; ++i) {
      const float* from = b_.values.data() + (k + i) * b_.columns + column;
      float* to = packed + i * kTileColumns;
      std::fill(std::copy(from, from + count, to), to + kTileColumns, 0.0F);
    }
  }

  // The last rows, when they do not fill a tile, are copied beside rows of zeros.
  Tile rows_of_a(std::int64_t row, std::int64_t k, std::int64_t depth) {
    const float* from = a_.values.data() + row * a_.columns + k;
    if (row + kTileRows <= end_) return {from, a_.columns, nullptr, depth};
    std::fill(last_rows_.begin(), last_rows_.end(), 0.0F);
    for (std::int64_t i = 0; i < end_ - row; ++i) {
      std::copy_n(from + i * a_.columns, depth, last_rows_.data() + i * kProductChunk);
    }
    return {last_rows_.data(), kProductChunk, nullptr, depth};
  }

  void add_tile(Tile tile, std::int64_t row, std::int64_t column, const float* packed) {
    float sums[kTileRows * kTileColumns];
    tile.packed = packed;
    multiply_tile(tile, sums);
    const std::int64_t rows = std::min(kTileRows, end_ - row);
    const std::int64_t columns = std::min(kTileColumns, b_.columns - column);
    for (std::int64_t i = 0; i < rows; ++i) {
      float* to = result_.values.data() + (row + i) * result_.columns + column;
      for (std::int64_t j = 0; j < columns; ++j) to[j] += sums[i * kTileColumns + j];
    }
  }

  const Matrix& a_;
  const Matrix& b_;
  Matrix& result_;
  std::int64_t first_;
  std::int64_t end_;
  std::vector<float> packed_;
  std::vector<float> last_rows_;
};

// `upper`: only the elements that are not left of the diagonal are needed.
void multiply_rows(const Matrix& a, const Matrix& b, Matrix& result, bool upper,
                   golden::ThreadTeam& team) {
  QSIM_CHECK(a.columns == b.rows && result.rows == a.rows && result.columns == b.columns,
             "the shapes of a product do not fit");
  std::fill(result.values.begin(), result.values.end(), 0.0F);
  const auto parts = static_cast<std::size_t>((a.rows + kPartRows - 1) / kPartRows);
  team.run(parts, [&](std::size_t part) {
    const std::int64_t first = static_cast<std::int64_t>(part) * kPartRows;
    PartOfProduct(a, b, result, first).run(upper ? first / kTileColumns * kTileColumns : 0);
  });
}

}  // namespace

Matrix::Matrix(std::int64_t row_count, std::int64_t column_count)
    : rows(row_count),
      columns(column_count),
      values(static_cast<std::size_t>(row_count * column_count)) {}

std::span<float> Matrix::row(std::int64_t index) {
  return {values.data() + index * columns, static_cast<std::size_t>(columns)};
}

std::span<const float> Matrix::row(std::int64_t index) const {
  return {values.data() + index * columns, static_cast<std::size_t>(columns)};
}

Matrix transpose(const Matrix& matrix) {
  constexpr std::int64_t kBlock = 32;
  Matrix result(matrix.columns, matrix.rows);
  for (std::int64_t first = 0; first < matrix.rows; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, matrix.rows);
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      float* to = result.values.data() + column * matrix.rows;
      for (std::int64_t row = first; row < end; ++row) {
        to[row] = matrix.values[static_cast<std::size_t>(row * matrix.columns + column)];
      }
    }
  }
  return result;
}

void multiply(const Matrix& a, const Matrix& b, Matrix& result, golden::ThreadTeam& team) {
  multiply_rows(a, b, result, false, team);
}

Matrix gram_matrix(const Matrix& samples, golden::ThreadTeam& team) {
  const std::int64_t size = samples.columns;
  Matrix gram(size, size);
  if (samples.rows == 0) return gram;
  multiply_rows(transpose(samples), samples, gram, true, team);
  const auto count = static_cast<float>(samples.rows);
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = row; column < size; ++column) {
      float& value = gram.values[static_cast<std::size_t>(row * size + column)];
      value /= count;
      gram.values[static_cast<std::size_t>(column * size + row)] = value;
    }
  }
  return gram;
}

}  // namespace qsim::quantize
