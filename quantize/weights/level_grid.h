// The levels that a scheme allows a weight, and the neighbours of a real number among them: what
// rounding chooses from.
#pragma once

#include <cstdint>
#include <vector>

#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {

// As stored: with the zero_point.
struct LevelPair {
  std::int16_t down = 0;
  std::int16_t up = 0;

  bool operator==(const LevelPair&) const = default;
};

class LevelGrid {
 public:
  explicit LevelGrid(const WeightScheme& scheme);
  // Ascending, at least two of them.
  explicit LevelGrid(std::vector<std::int16_t> levels) : levels_(std::move(levels)) {}

  // The levels around `level`, a real number: the largest that is at most `level`, and the next one
  // up. Beyond either end, and on a level, both are the same.
  LevelPair around(double level) const;
  // The nearer of the two; of two as near the even one, and where both or neither is even the
  // lower.
  std::int16_t nearest(double level) const;
  const std::vector<std::int16_t>& levels() const { return levels_; }

 private:
  std::vector<std::int16_t> levels_;
};

}  // namespace qsim::quantize
