// The last step of learned rounding: single weights change sides while that lowers the error.
#pragma once

#include "quantize/weights/level_grid.h"
#include "quantize/weights/rounding_problem.h"

namespace qsim::quantize {

// Moves a weight of the row between the two levels around its exact value where the error falls by
// it: d g + d^2 G_kk < 0 for a change of d and the gradient g. Passes over the row until no weight
// moves, at most kMostPasses. Keeps row.gradient and row.error up to date.
inline constexpr int kMostPasses = 20;
void flip_while_better(JudgedRow& row, const Matrix& gram, const LevelGrid& grid);

}  // namespace qsim::quantize
