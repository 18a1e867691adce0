#include "compiler/lowering/chunk_counts.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/machine/isa/command_fields.h"

namespace qsim::compiler {
namespace {

constexpr std::int64_t kMostPlanes = max_of<Execute>("planes");

// The part of the reduction under one activation chunk, of one part of the weights.
struct Part {
  std::int64_t planes = 0;
  std::int64_t rows = 0;  // of the kernel
  std::int64_t cols = 0;
  bool taps_apart = false;  // a box is of one tap, and the planes are innermost
  std::int64_t plane_folds() const { return rows * cols; }
};

std::int64_t planes_of_tap(const Part& part, std::int64_t limit) {
  return std::min({limit, kMostPlanes, part.planes});
}

// The folds of its largest box of at most `limit` folds: whole planes, else whole kernel rows, else
// kernel columns.
std::int64_t box_folds(const Part& part, std::int64_t limit) {
  if (part.taps_apart) return planes_of_tap(part, limit);
  if (limit >= part.plane_folds()) {
    return std::min({limit / part.plane_folds(), kMostPlanes, part.planes}) * part.plane_folds();
  }
  return limit >= part.cols ? limit / part.cols * part.cols : limit;
}

std::int64_t boxes(const Part& part, std::int64_t limit) {
  if (part.planes == 0) return 0;
  const std::int64_t folds = box_folds(part, limit);
  if (part.taps_apart) return part.rows * part.cols * ceil_div(part.planes, folds);
  if (limit >= part.plane_folds()) return ceil_div(part.planes * part.plane_folds(), folds);
  if (limit >= part.cols) return part.planes * ceil_div(part.rows, folds / part.cols);
  return part.planes * part.rows * ceil_div(part.cols, folds);
}

std::int64_t last_box_folds(const Part& part, std::int64_t limit) {
  const auto last_of = [](std::int64_t whole, std::int64_t each) { return (whole - 1) % each + 1; };
  const std::int64_t folds = box_folds(part, limit);
  if (part.taps_apart) return last_of(part.planes, folds);
  if (limit >= part.plane_folds()) {
    return last_of(part.planes, folds / part.plane_folds()) * part.plane_folds();
  }
  if (limit >= part.cols) return last_of(part.rows, folds / part.cols) * part.cols;
  return last_of(part.cols, folds);
}

// As boxes(), but the first box has at most `first` folds, no more than `limit`. The boxes after it
// finish its kernel row, then its plane.
std::int64_t boxes_after(const Part& part, std::int64_t limit, std::int64_t first) {
  const std::int64_t folds = box_folds(part, first);
  if (part.taps_apart) {
    const std::int64_t each = planes_of_tap(part, limit);
    return 1 + ceil_div(part.planes - folds, each) +
           (part.rows * part.cols - 1) * ceil_div(part.planes, each);
  }
  if (first >= part.plane_folds()) {
    const std::int64_t planes = folds / part.plane_folds();
    return 1 + boxes({part.planes - planes, part.rows, part.cols}, limit);
  }
  std::int64_t count = 1;
  std::int64_t rows_left = part.rows - folds / part.cols;
  if (first < part.cols) {
    rows_left = part.rows - 1;
    count += ceil_div(part.cols - folds, std::min(limit, part.cols));
  }
  if (rows_left > 0) {
    count += limit >= part.cols ? ceil_div(rows_left, limit / part.cols)
                                : rows_left * ceil_div(part.cols, limit);
  }
  return count + boxes({part.planes - 1, part.rows, part.cols}, limit);
}

}  // namespace

ChunkCounts count_chunks(const LayerGeometry& g, std::int64_t planes, const Mapping& m) {
  const Window& window = g.window;
  const bool apart = runs_tap_by_tap(window);
  const bool shares = g.traits().shares_weights;
  ChunkCounts counts;
  const std::int64_t full_planes = std::min(m.act_planes, planes);
  const std::int64_t full_rows = std::min(m.act_kernel_rows, window.kernel_h);
  // What of it has weights of its own.
  const auto stored = [&](const Part& part) {
    return shares ? Part{part.planes, 1, 1, true} : part;
  };
  const auto taps = [&](const Part& part) { return shares ? part.plane_folds() : 1; };
  const auto add = [&](std::int64_t chunks, const Part& part) {
    if (part.planes == 0 || part.rows == 0) return;
    const std::int64_t folds = box_folds(stored(part), m.weight_folds) * taps(part);
    const std::int64_t weights = chunks * g.weight_parts * boxes(stored(part), m.weight_folds);
    counts.acts += chunks;
    counts.weights += weights;
    counts.executes += weights * taps(part);
    counts.largest_folds = std::max(counts.largest_folds, folds);
    counts.later_folds += chunks * (g.weight_parts * part.planes * part.plane_folds() - folds);
  };
  const std::int64_t times = planes / full_planes;
  const std::int64_t row_times = window.kernel_h / full_rows;
  const std::int64_t rest_planes = planes % full_planes;
  const std::int64_t rest_rows = window.kernel_h % full_rows;
  add(times * row_times, {full_planes, full_rows, window.kernel_w, apart});
  add(times, {full_planes, rest_rows, window.kernel_w, apart});
  add(row_times, {rest_planes, full_rows, window.kernel_w, apart});
  add(1, {rest_planes, rest_rows, window.kernel_w, apart});
  const Part last = {rest_planes > 0 ? rest_planes : full_planes,
                     rest_rows > 0 ? rest_rows : full_rows, window.kernel_w, apart};
  counts.last_folds = last_box_folds(stored(last), m.weight_folds) * taps(last);
  const Part first = {full_planes, full_rows, window.kernel_w, apart};
  counts.first_folds = box_folds(stored(first), m.first_weight_folds);
  if (m.first_weight_folds < m.weight_folds) {
    counts.more_weights = boxes_after(stored(first), m.weight_folds, m.first_weight_folds) -
                          boxes(stored(first), m.weight_folds);
    counts.more_executes = counts.more_weights * taps(first);
  }
  return counts;
}

}  // namespace qsim::compiler
