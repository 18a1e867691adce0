#include "quantize/weights/level_grid.h"

#include <algorithm>

namespace qsim::quantize {
namespace {

std::vector<std::int16_t> allowed_levels(const WeightScheme& scheme) {
  std::vector<std::int16_t> levels;
  if (scheme.log2) {
    const int most_exponent = (1 << (scheme.levels.bits - 1)) - 2;
    levels.push_back(0);
    for (int exponent = 0; exponent <= most_exponent; ++exponent) {
      levels.push_back(static_cast<std::int16_t>(1 << exponent));
      levels.push_back(static_cast<std::int16_t>(-(1 << exponent)));
    }
    std::sort(levels.begin(), levels.end());
    return levels;
  }
  const std::int32_t lo = scheme.levels.lo();
  const std::int32_t hi = scheme.levels.hi();
  const bool has_no_zero = scheme.levels.bits == 1 && !scheme.levels.is_unsigned;
  for (std::int32_t level = lo; level <= hi; ++level) {
    if (!(has_no_zero && level == 0)) levels.push_back(static_cast<std::int16_t>(level));
  }
  return levels;
}

}  // namespace

LevelGrid::LevelGrid(const WeightScheme& scheme) : levels_(allowed_levels(scheme)) {}

LevelPair LevelGrid::around(double level) const {
  if (!(level > levels_.front())) return {levels_.front(), levels_.front()};
  if (level >= levels_.back()) return {levels_.back(), levels_.back()};
  const auto above =
      std::upper_bound(levels_.begin(), levels_.end(), level,
                       [](double value, std::int16_t entry) { return value < entry; });
  const std::int16_t down = *(above - 1);
  return {down, down == level ? down : *above};
}

std::int16_t LevelGrid::nearest(double level) const {
  const LevelPair pair = around(level);
  const double below = level - pair.down;
  const double above = pair.up - level;
  if (pair.down == pair.up || below < above) return pair.down;
  if (above < below) return pair.up;
  return pair.down % 2 != 0 && pair.up % 2 == 0 ? pair.up : pair.down;
}

}  // namespace qsim::quantize
