// How many positions the windows of an average pool count: at edges fewer than elsewhere, where
// pads are not counted or a last window hangs over.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/graph.h"

namespace qsim::compiler {

// Neighbouring ofmap rows (columns) whose windows count equally many rows (columns) of the ifmap.
struct CountedRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t positions = 0;
  bool operator==(const CountedRun&) const = default;
};

// A window counts the product of its rows and its columns. So the ofmap is cut into rectangles,
// each with one count.
struct WindowCounts {
  std::vector<CountedRun> rows;
  std::vector<CountedRun> cols;
  std::vector<std::int64_t> counts;  // each product once, ascending

  // Where the product of a run of rows and one of columns is in `counts`.
  std::size_t index_of(std::int64_t rows_counted, std::int64_t cols_counted) const;
};

WindowCounts window_counts(const AveragePool& pool, const ImageShape& input,
                           const ImageShape& output);

}  // namespace qsim::compiler
