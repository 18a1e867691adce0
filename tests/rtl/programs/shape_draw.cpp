#include "tests/rtl/programs/shape_draw.h"

#include <algorithm>

#include "compiler/verifier/command_ranges.h"
#include "core/machine/isa/command_fields.h"
#include "core/machine/isa/parameter_block.h"
#include "tests/rtl/programs/field_numbers.h"
#include "tests/rtl/programs/word_spans.h"

namespace qsim {
namespace {

std::int32_t s32(std::int64_t value) { return static_cast<std::int32_t>(value); }

// Two numbers of which the larger lies in [low, high].
struct Pair {
  std::int64_t h, w;
};

Pair draw_pair(Random& random, std::int64_t low, std::int64_t high) {
  const std::int64_t large = random.uniform(low, high);
  const std::int64_t other = random.chance(0.4) ? large : random.uniform(1, large);
  return random.chance(0.5) ? Pair{large, other} : Pair{other, large};
}

constexpr std::array<Pair, kKernelBins> kKernelRanges = {
    {{1, 1}, {2, 3}, {4, 7}, {8, max_of<Execute>("kernel_h")}}};
constexpr std::array<Pair, kStrideBins> kStrideRanges = {
    {{1, 1}, {2, 2}, {3, max_of<Execute>("stride_h")}}};

// One axis of a window that slides over a resident tile.
struct Axis {
  std::int64_t outputs = 1, kernel = 1, stride = 1, origin = 0, size = 1;
  std::int64_t reach() const { return (outputs - 1) * stride + kernel; }
};

void draw_inside(Random& random, Axis& axis, std::int64_t most_origin) {
  axis.origin = random.chance(0.6) ? 0 : random.uniform(0, most_origin);
  axis.size = axis.reach() + axis.origin + (random.chance(0.6) ? 0 : random.uniform(0, 3));
}

void draw_across(Random& random, Axis& axis, std::int64_t low, std::int64_t high) {
  axis.size = random.uniform(1, axis.reach() + 2);
  axis.origin = std::clamp(random.uniform(-axis.kernel - 1, 2), low, high);
}

void draw_outside(Random& random, Axis& axis, std::int64_t low, std::int64_t high) {
  axis.size = random.uniform(1, 4);
  if (random.chance(0.5) && -axis.reach() >= low) {
    axis.origin = std::max(low, -axis.reach() - random.uniform(0, 3));
  } else if (random.chance(0.7)) {
    axis.origin = std::min(high, axis.size + random.uniform(0, 5));
  } else {
    draw_across(random, axis, low, high);  // a stride may step over the tile
  }
}

void draw_pad(Random& random, PadBin bin, std::int64_t low, std::int64_t high, Axis& rows,
              Axis& cols) {
  const bool first = random.chance(0.5);
  for (Axis* axis : {&rows, &cols}) {
    const bool chosen = (axis == &rows) == first;
    if (bin == PadBin::kNone || (!chosen && random.chance(0.4))) {
      draw_inside(random, *axis, 3);
    } else if (bin == PadBin::kAll && chosen) {
      draw_outside(random, *axis, low, high);
    } else {
      draw_across(random, *axis, low, high);
    }
  }
}

std::int64_t draw_pixels(Random& random, std::int64_t array_rows, std::int64_t low,
                         std::int64_t high) {
  std::int64_t pixels = random.uniform(low, high);
  if (random.chance(0.15)) pixels = 1;
  if (random.chance(0.2)) pixels = random.uniform(1, array_rows);
  if (random.chance(0.1)) pixels = array_rows + random.uniform(-1, 1);
  return std::clamp(pixels, low, std::max(low, high));
}

// Rows and columns whose product is at least `least` and about `pixels`.
void split_pixels(Random& random, std::int64_t pixels, std::int64_t least, Axis& rows, Axis& cols) {
  rows.outputs = random.chance(0.3) ? 1 : random.uniform(1, std::min<std::int64_t>(pixels, 12));
  cols.outputs = std::max<std::int64_t>(1, pixels / rows.outputs);
  while (rows.outputs * cols.outputs < least) ++cols.outputs;
  if (random.chance(0.5)) std::swap(rows.outputs, cols.outputs);
}

void draw_layout(Random& random, Execute& e) {
  const auto pitch = [&](std::int64_t tight) {
    const double kind = static_cast<double>(random.uniform(0, 99));
    if (kind < 65) return tight;
    return kind < 88 ? tight + random.uniform(0, 5) : random.uniform(1, tight);
  };
  e.act_row_words = u32(pitch(e.in_cols));
  e.act_plane_words = u32(std::clamp<std::int64_t>(pitch(std::int64_t{e.act_row_words} * e.in_rows),
                                                   1, max_of<Execute>("act_plane_words")));
}

void set_window(Execute& e, const Axis& rows, const Axis& cols) {
  e.kernel_h = u32(rows.kernel);
  e.kernel_w = u32(cols.kernel);
  e.stride_h = u32(rows.stride);
  e.stride_w = u32(cols.stride);
  e.out_rows = u32(rows.outputs);
  e.out_cols = u32(cols.outputs);
  e.in_rows = u32(rows.size);
  e.in_cols = u32(cols.size);
  e.origin_row = s32(rows.origin);
  e.origin_col = s32(cols.origin);
}

// `effort` 0 to 1: how far sizes have shrunk.
Execute draw_execute_once(Random& random, const ArchConfig& arch, const ExecuteBins& bins,
                          const ExecuteLimits& limits, double effort) {
  const std::int64_t most_folds = std::max<std::int64_t>(
      1, std::min(limits.cycles / arch.array_rows, arch.weight_slot_words() / arch.fold_words()));
  Axis rows, cols;
  Pair kernel = draw_pair(random, kKernelRanges[bins.kernel].h, kKernelRanges[bins.kernel].w);
  std::int64_t& shorter = kernel.h < kernel.w ? kernel.h : kernel.w;
  while (kernel.h * kernel.w > most_folds && shorter > 1) --shorter;
  const Pair stride = draw_pair(random, kStrideRanges[bins.stride].h, kStrideRanges[bins.stride].w);
  rows.kernel = kernel.h;
  cols.kernel = kernel.w;
  rows.stride = stride.h;
  cols.stride = stride.w;
  const std::int64_t window = kernel.h * kernel.w;
  const std::int64_t most_planes = std::clamp<std::int64_t>(most_folds / window, 1, 9);
  Execute e;
  e.blocks = 1;
  e.planes = u32(random.chance(0.5) ? 1 : random.uniform(1, most_planes));
  const std::int64_t most = std::clamp<std::int64_t>(limits.cycles / (window * e.planes),
                                                     limits.min_pixels, limits.max_pixels);
  const auto shrunk = static_cast<std::int64_t>(static_cast<double>(most) * (1 - effort));
  split_pixels(
      random,
      draw_pixels(random, arch.array_rows, limits.min_pixels, std::max(limits.min_pixels, shrunk)),
      limits.min_pixels, rows, cols);
  draw_pad(random, bins.pad, min_of<Execute>("origin_row"), max_of<Execute>("origin_row"), rows,
           cols);
  set_window(e, rows, cols);
  draw_layout(random, e);
  e.pad_value =
      s32(random.chance(0.3) ? (random.chance(0.5) ? -128 : 127) : random.uniform(-128, 127));
  return e;
}

// The larger side of the window in one draw of a pooling bin.
void draw_pool(Random& random, PoolBin bin, Axis& rows, Axis& cols) {
  for (Axis* axis : {&rows, &cols}) {
    axis->kernel =
        bin == PoolBin::kNone ? 1 : random.uniform(1, random.chance(0.6) ? 2 : kMostPoolWindow);
    axis->stride = random.uniform(1, kMostPoolWindow);
    if (bin == PoolBin::kDisjoint && random.chance(0.7)) axis->stride = axis->kernel;
    if (bin == PoolBin::kOverlapping && axis->kernel > 1) {
      axis->stride = random.uniform(1, axis->kernel - 1);
    }
    if (bin == PoolBin::kNone && random.chance(0.6)) axis->stride = 1;
  }
}

Post draw_post_once(Random& random, PoolBin bin, std::int64_t psums, std::int64_t cycles,
                    double effort) {
  Axis rows, cols;
  draw_pool(random, bin, rows, cols);
  const std::int64_t most = std::max<std::int64_t>(
      1, std::min(cycles / (rows.kernel * cols.kernel), bin == PoolBin::kNone ? psums : psums / 2));
  const auto shrunk = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(most) * (1 - effort)));
  split_pixels(random, random.uniform(1, shrunk), 1, rows, cols);
  draw_pad(random, bin == PoolBin::kPadded ? PadBin::kSome : PadBin::kNone,
           min_of<Post>("origin_row"), max_of<Post>("origin_row"), rows, cols);
  Post p;
  p.pool_h = u32(rows.kernel);
  p.pool_w = u32(cols.kernel);
  p.pool_stride_h = u32(rows.stride);
  p.pool_stride_w = u32(cols.stride);
  p.out_rows = u32(rows.outputs);
  p.out_cols = u32(cols.outputs);
  p.in_rows = u32(rows.size);
  p.in_cols = u32(cols.size);
  p.origin_row = s32(rows.origin);
  p.origin_col = s32(cols.origin);
  return p;
}

}  // namespace

Execute draw_execute(Random& random, const ArchConfig& arch, const ExecuteBins& wanted,
                     const ExecuteLimits& limits) {
  constexpr int kAttempts = 60;
  ExecuteBins bins = wanted;
  while (bins.kernel > 0 &&
         kKernelRanges[bins.kernel].h > arch.weight_slot_words() / arch.fold_words())
    --bins.kernel;
  Execute e;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    e = draw_execute_once(random, arch, bins, limits, attempt / double{kAttempts});
    const WordSpan span = span_of(words_of(e, arch));
    const std::int64_t extent = (e.planes - std::int64_t{1}) * e.act_plane_words +
                                (e.in_rows - std::int64_t{1}) * e.act_row_words + e.in_cols;
    const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
    if (bins_of(e) == bins && span.size() <= limits.act_words &&
        folds * arch.fold_words() <= arch.weight_slot_words() &&
        extent <= arch.act_slot_words() / 4 && span.end <= arch.act_slot_words() / 2 &&
        std::int64_t{e.out_rows} * e.out_cols <= limits.max_pixels) {
      return e;
    }
  }
  // The bins do not fit the limits: one fold of as many pixels as are wanted.
  Execute plain;
  plain.blocks = 1;
  plain.kernel_h = plain.kernel_w = plain.stride_h = plain.stride_w = plain.planes = 1;
  plain.out_rows = plain.in_rows = plain.act_plane_words = 1;
  plain.out_cols = plain.in_cols = plain.act_row_words =
      u32(std::min({limits.min_pixels, limits.max_pixels,
                    std::max<std::int64_t>(1, arch.act_slot_words() / 2)}));
  plain.pad_value = e.pad_value;
  return plain;
}

Post draw_post(Random& random, const ArchConfig& arch, PoolBin bin, std::int64_t psums,
               std::int64_t cycles) {
  constexpr int kAttempts = 60;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Post p = draw_post_once(random, bin, psums, cycles, attempt / double{kAttempts});
    const std::int64_t area = std::int64_t{p.in_rows} * p.in_cols;
    const std::int64_t read = span_of(words_of(p, arch)).size();
    if (read == 0 && random.chance(0.95)) continue;  // a window beside the tile: rarely
    if (pool_bin_of(p) == bin && area <= arch.accumulator_half_words() &&
        std::int64_t{p.out_rows} * p.out_cols <= arch.output_half_words() && read <= psums) {
      draw_epilogue(random, arch, p);
      return p;
    }
  }
  Post p;
  p.in_rows = p.in_cols = p.out_rows = p.out_cols = 1;
  p.pool_h = p.pool_w = p.pool_stride_h = p.pool_stride_w = 1;
  draw_epilogue(random, arch, p);
  return p;
}

void draw_epilogue(Random& random, const ArchConfig& arch, Post& post) {
  post.rounding = u32(random.uniform(0, post_roundings(arch) - 1));
  post.zero_point = s32(random.chance(0.4) ? 0 : random.uniform(-128, 127));
  post.lo = -128;
  post.hi = 127;
  if (random.chance(0.3)) post.lo = post.zero_point;  // ReLU
  if (random.chance(0.2)) post.lo = s32(random.uniform(-128, 127));
  if (random.chance(0.2)) post.hi = s32(random.uniform(post.lo, 127));
  if (!arch.is_dyadic()) return;
  post.add = random.chance(0.35) ? 1 : 0;
  post.lookup = random.chance(0.3) ? 1 : 0;
}

}  // namespace qsim
