#include "compiler/passes/window_counts.h"

#include <algorithm>

#include "core/network/layer_arithmetic.h"

namespace qsim::compiler {
namespace {

void append(std::vector<CountedRun>& runs, std::int64_t at, std::int64_t positions) {
  if (!runs.empty() && runs.back().positions == positions) {
    runs.back().end = at + 1;
  } else {
    runs.push_back({at, at + 1, positions});
  }
}

}  // namespace

std::size_t WindowCounts::index_of(std::int64_t rows_counted, std::int64_t cols_counted) const {
  const auto found = std::lower_bound(counts.begin(), counts.end(), rows_counted * cols_counted);
  return static_cast<std::size_t>(found - counts.begin());
}

WindowCounts window_counts(const AveragePool& pool, const ImageShape& input,
                           const ImageShape& output) {
  WindowCounts counts;
  for (std::int64_t oy = 0; oy < output.height; ++oy) {
    append(counts.rows, oy, average_rows(pool, input, oy));
  }
  for (std::int64_t ox = 0; ox < output.width; ++ox) {
    append(counts.cols, ox, average_cols(pool, input, ox));
  }
  for (const CountedRun& rows : counts.rows) {
    for (const CountedRun& cols : counts.cols) {
      counts.counts.push_back(rows.positions * cols.positions);
    }
  }
  std::sort(counts.counts.begin(), counts.counts.end());
  counts.counts.erase(std::unique(counts.counts.begin(), counts.counts.end()), counts.counts.end());
  return counts;
}

}  // namespace qsim::compiler
