// Moves the weights of whole folds from the layer's order, where those of a column lie together, to
// the array's, where those of a row do.
#pragma once

#include <cstdint>

namespace qsim::compiler {

// Where the weights of a fold's first plane are: that of column c and row r is at
// from[c * pitch + depth[r]]. There are all of `rows` x `columns`, both powers of two of at
// least 4.
struct FoldWeights {
  const std::int8_t* from;
  std::int64_t pitch;
  const std::int64_t* depth;
  std::int64_t rows;
  std::int64_t columns;
};

// Writes one fold: rows of `columns` bytes.
void pack_fold(const FoldWeights& fold, std::int8_t* to);

// Writes the folds of so many planes, one after the other, where the weight of plane p is p bytes
// after that of the first. `columns` is a multiple of this number.
inline constexpr std::int64_t kPlanesAtOnce = 16;
void pack_neighbouring_planes(const FoldWeights& fold, std::int8_t* to);

}  // namespace qsim::compiler
