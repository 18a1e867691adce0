#include "compiler/lowering/post_parts.h"

#include <algorithm>
#include <map>

namespace qsim::compiler {
namespace {

using Runs = std::vector<CountedRun>;

// The parts of runs within [begin, end).
Runs runs_within(const Runs& runs, const Range& range) {
  Runs within;
  for (const CountedRun& run : runs) {
    const std::int64_t begin = std::max(run.begin, range.begin);
    const std::int64_t end = std::min(run.end, range.end);
    if (begin < end) within.push_back({begin, end, run.positions});
  }
  return within;
}

// What the psum tiles along one axis count: each set of numbers, ascending, with how many tiles
// have it; and the runs of all tiles.
struct AxisNumbers {
  std::map<std::vector<std::int64_t>, std::int64_t> sets;
  std::int64_t runs = 0;
};

AxisNumbers numbers_along(const Runs& runs, std::int64_t size, std::int64_t tile) {
  AxisNumbers numbers;
  for (std::int64_t begin = 0; begin < size; begin += tile) {
    std::vector<std::int64_t> set;
    for (const CountedRun& run : runs_within(runs, {begin, std::min(size, begin + tile)})) {
      set.push_back(run.positions);
      ++numbers.runs;
    }
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    ++numbers.sets[set];
  }
  return numbers;
}

std::int64_t distinct_products(const std::vector<std::int64_t>& a,
                               const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> products;
  for (const std::int64_t x : a) {
    for (const std::int64_t y : b) products.push_back(x * y);
  }
  std::sort(products.begin(), products.end());
  return std::unique(products.begin(), products.end()) - products.begin();
}

}  // namespace

std::vector<PostPart> post_parts(const LayerGeometry& g, const Range& out_y, const Range& out_x) {
  const WindowCounts* counts = g.window_counts();
  if (counts == nullptr) return {{out_y, out_x}};
  std::vector<PostPart> parts;
  for (const CountedRun& rows : runs_within(counts->rows, out_y)) {
    for (const CountedRun& cols : runs_within(counts->cols, out_x)) {
      const auto number =
          static_cast<std::int64_t>(counts->index_of(rows.positions, cols.positions));
      parts.push_back({{rows.begin, rows.end}, {cols.begin, cols.end}, number});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PostPart& a, const PostPart& b) { return a.number < b.number; });
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool is_new = parts[i].number != parts[i - 1].number;
    parts[i].is_first_of_number = parts[i - 1].is_last_of_number = is_new;
  }
  return parts;
}

PostCounts count_posts(const LayerGeometry& g, std::int64_t tile_rows, std::int64_t tile_cols) {
  const WindowCounts* counted = g.window_counts();
  if (counted == nullptr) {
    const std::int64_t tiles = ceil_div(g.out_rows, tile_rows) * ceil_div(g.out_cols, tile_cols);
    return {tiles, tiles};
  }
  const AxisNumbers rows = numbers_along(counted->rows, g.out_rows, tile_rows);
  const AxisNumbers cols = numbers_along(counted->cols, g.out_cols, tile_cols);
  PostCounts counts{rows.runs * cols.runs, 0};
  for (const auto& [row_set, row_tiles] : rows.sets) {
    for (const auto& [col_set, col_tiles] : cols.sets) {
      counts.numbers += row_tiles * col_tiles * distinct_products(row_set, col_set);
    }
  }
  return counts;
}

}  // namespace qsim::compiler
