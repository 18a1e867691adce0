#include "quantize/weights/flips.h"

#include "quantize/weights/vector_clones.h"

namespace qsim::quantize {
namespace {

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

}  // namespace

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

}  // namespace qsim::quantize
