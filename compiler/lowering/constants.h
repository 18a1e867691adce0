// The constant part of a program's DRAM image: weights in the order in which the array takes them,
// and parameter blocks.
#pragma once

#include <cstddef>
#include <functional>

#include "compiler/lowering/memory_plan.h"
#include "core/machine/program.h"

namespace qsim::compiler {

// A part of one layer's weights that lowering does not read again: bytes [begin, end).
struct SpentWeights {
  const FusedLayer& layer;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Is called for each part, in order, as soon as it has been packed.
using OnSpentWeights = std::function<void(const SpentWeights&)>;

// Folds one after the other, in the order in which the layer's EXECUTE commands run them: block
// group, activation chunk, plane, kernel row, kernel column, column block of the group. A fold is
// array_rows rows of array_cols bytes; for input_stationary, array_cols columns of array_rows
// bytes. Rows beyond the depth and columns beyond the channels are 0.
DramSegment pack_weights(const PlannedLayer& planned, const ArchConfig& arch,
                         const OnSpentWeights& on_spent);

// For each column block array_cols int32 biases (little-endian), then array_cols shift bytes; with
// `requantizer: dyadic` 8 bytes a channel. Where windows count several numbers, all of it for each
// number.
DramSegment pack_params(const PlannedLayer& planned, const ArchConfig& arch);

// Of a layer that has a table.
DramSegment pack_table(const PlannedLayer& planned);

}  // namespace qsim::compiler
