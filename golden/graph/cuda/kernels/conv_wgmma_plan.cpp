#include "golden/graph/cuda/kernels/conv_wgmma_plan.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/base/checked_math.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kFewestStages = 3;
constexpr int kLargestBox = 256;
constexpr double kMacsPerCycle = 4096;  // of a multiprocessor, int8

int parts(std::int64_t a, std::int64_t b) { return static_cast<int>(ceil_div(a, b)); }
int align(int bytes) { return static_cast<int>(round_up(bytes, kBoxAlignment)); }

bool has_pads(const Window& w) {
  return w.pad_top != 0 || w.pad_left != 0 || w.pad_bottom != 0 || w.pad_right != 0;
}

bool is_1x1(const Window& w) { return w.kernel_h == 1 && w.kernel_w == 1 && !has_pads(w); }

// Whether it is computed in phases: 3x3, stride 2, pads before the picture, an even picture.
bool has_phases(const ConvTask& task) {
  const Window& w = task.window;
  const ImageShape& in = task.input.shape;
  const ImageShape& out = task.ofmap.shape;
  return w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 2 && w.stride_w == 2 &&
         w.pad_top == 1 && w.pad_left == 1 && w.dilation_h == 1 && w.dilation_w == 1 &&
         in.height == 2 * out.height && in.width == 2 * out.width;
}

// One of the phases as a convolution.
ConvTask phase_of(const ConvTask& task) {
  ConvTask phase = task;
  phase.window = {2, 2, 1, 1, 1, 1, 0, 0};
  phase.input.shape.height /= 2;
  phase.input.shape.width /= 2;
  return phase;
}

bool takes_window(const ConvTask& task) {
  const Window& w = task.window;
  const bool is_dense =
      w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 && w.dilation_w == 1;
  return task.groups == 1 && (is_dense || is_1x1(w) || has_phases(task)) &&
         (task.input.zero_point == 0 || !has_pads(w));
}

bool takes_requantization(const ConvTask& task) {
  const Requantization& rq = task.requantization;
  const FinishKind kind = finish_kind(task);
  if (kind == FinishKind::kScale) return true;
  const bool shifts = std::all_of(rq.shifts.begin(), rq.shifts.end(), [](int s) { return s > 0; });
  return kind == FinishKind::kShift && shifts && !task.addition;
}

bool takes(const ConvTask& task) {
  const ImageShape& out = task.ofmap.shape;
  return task.input.shape.channels % 16 == 0 && takes_window(task) &&
         out.batch * out.height * out.width < (std::int64_t{1} << 31) - 4096 &&
         takes_requantization(task);
}

// One way to lay rows on input boxes.
struct Layout {
  ConvGeometry geometry;
  int box_width = 0;
  int box_height = 0;
  bool line = false;  // all pixels as one picture of height 1

  // Share of the computed rows that are outputs.
  double efficiency() const {
    const ConvGeometry& g = geometry;
    return static_cast<double>(g.width) * g.height /
           (static_cast<double>(g.picture_units.divisor() << g.unit_shift) * kGroupRows);
  }
};

ConvGeometry common(const ConvTask& task) {
  ConvGeometry g;
  g.kernel_w = static_cast<int>(task.window.kernel_w);
  g.taps = static_cast<int>(task.window.kernel_h * task.window.kernel_w);
  g.pad_left = static_cast<int>(task.window.pad_left);
  g.pad_top = static_cast<int>(task.window.pad_top);
  g.width = static_cast<int>(task.ofmap.shape.width);
  g.height = static_cast<int>(task.ofmap.shape.height);
  g.channels = static_cast<int>(task.ofmap.shape.channels);
  return g;
}

void set_units(const ConvTask& task, Layout& layout) {
  ConvGeometry& g = layout.geometry;
  const int across = parts(g.width, g.step_x);
  g.units_x = FastDivisor(across);
  g.picture_units = FastDivisor(across * parts(g.height, g.step_y));
  const std::int64_t pictures = layout.line ? 1 : task.ofmap.shape.batch;
  g.units = static_cast<int>(pictures * g.picture_units.divisor());
}

Layout squares(const ConvTask& task) {
  Layout layout{common(task)};
  layout.box_width = 8 + static_cast<int>(task.window.kernel_w) - 1;
  layout.box_height = 8 + static_cast<int>(task.window.kernel_h) - 1;
  ConvGeometry& g = layout.geometry;
  g.pitch = layout.box_width;
  g.group_stride = layout.box_width;
  set_units(task, layout);
  return layout;
}

// `groups` 64-row groups on one box of whole picture rows; nothing when not even one row fits.
std::optional<Layout> stripes(const ConvTask& task, int groups) {
  const Window& w = task.window;
  Layout layout{common(task)};
  ConvGeometry& g = layout.geometry;
  // A row's right pad may be the next row's left pad, where the box has that row.
  const bool shared_pad =
      task.input.shape.width == task.ofmap.shape.width && w.pad_right <= w.pad_left;
  g.pitch = g.width + static_cast<int>(shared_pad ? w.pad_left : w.kernel_w - 1);
  const int rows = std::min((groups * kGroupRows - g.width) / g.pitch + 1, g.height);
  if (groups * kGroupRows < g.width || rows < 1) return std::nullopt;
  g.unit_shift = std::countr_zero(static_cast<unsigned>(groups));
  g.row_pitch = FastDivisor(g.pitch);
  g.group_stride = 8;
  g.step_x = g.width;
  g.step_y = rows;
  layout.box_width = g.pitch;
  layout.box_height = rows + static_cast<int>(w.kernel_h) - 1 + (shared_pad ? 1 : 0);
  if (layout.box_width > kLargestBox || layout.box_height > kLargestBox) return std::nullopt;
  set_units(task, layout);
  return layout;
}

// A 1x1 window: all pixels of the batch in one row.
Layout line(const ConvTask& task, int groups) {
  Layout layout{common(task)};
  ConvGeometry& g = layout.geometry;
  const ImageShape& out = task.ofmap.shape;
  g.width = static_cast<int>(out.batch * out.height * out.width);
  g.height = 1;
  g.unit_shift = std::countr_zero(static_cast<unsigned>(groups));
  g.pitch = groups * kGroupRows;
  g.row_pitch = FastDivisor(g.pitch);
  g.group_stride = 8;
  g.step_x = g.pitch;
  g.step_y = 1;
  layout.box_width = g.pitch;
  layout.box_height = 1;
  layout.line = true;
  set_units(task, layout);
  return layout;
}

// The layout that wastes least; among equals the one with the largest units, whose halos are
// smallest.
std::optional<Layout> best_layout(const ConvTask& task, int tile_groups) {
  const Window& w = task.window;
  if (is_1x1(w) && w.stride_h == 1 && w.stride_w == 1 && !task.pool) {
    return line(task, tile_groups);
  }
  std::optional<Layout> best = squares(task);
  for (int groups = 1; groups <= tile_groups && !task.pool; groups *= 2) {
    const std::optional<Layout> layout = stripes(task, groups);
    if (layout && layout->efficiency() > best->efficiency() - (groups > 1 ? 1e-9 : 0)) {
      best = layout;
    }
  }
  if (best->box_width > kLargestBox || best->box_height > kLargestBox) return std::nullopt;
  return best;
}

// The five dimensions of an even picture: columns 2 x and 2 x + 1 side by side, x, rows 2 y and
// 2 y + 1, y, pictures.
void set_phase_tensor(const ConvTask& phase, const Layout& layout, ConvPlan& plan) {
  const ImageShape& in = phase.input.shape;  // half of the picture along both axes
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::int64_t row = 2 * in.width * in.channels;
  plan.input_sizes = {size(2 * in.channels), size(in.width), 2, size(in.height), size(in.batch)};
  plan.input_strides = {size(2 * in.channels), size(row), size(2 * row), size(2 * in.height * row)};
  plan.input_box = {static_cast<std::uint32_t>(plan.row_bytes),
                    static_cast<std::uint32_t>(layout.box_width), 1,
                    static_cast<std::uint32_t>(layout.box_height), 1};
}

void set_input_tensor(const ConvTask& task, const Layout& layout, ConvPlan& plan) {
  const ImageShape& in = task.input.shape;
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  if (layout.line) {
    plan.input_sizes = {size(in.channels), size(in.batch * in.height * in.width), 1, 1};
  } else if (is_1x1(task.window)) {  // the pixels that it reads, which strides leave gaps between
    const ImageShape& out = task.ofmap.shape;
    const std::int64_t row = in.width * in.channels;
    plan.input_sizes = {size(in.channels), size(out.width), size(out.height), size(in.batch)};
    plan.input_strides = {size(task.window.stride_w * in.channels),
                          size(task.window.stride_h * row), size(in.height * row)};
  } else {
    plan.input_sizes = {size(in.channels), size(in.width), size(in.height), size(in.batch)};
  }
  plan.input_box = {static_cast<std::uint32_t>(plan.row_bytes),
                    static_cast<std::uint32_t>(layout.box_width),
                    static_cast<std::uint32_t>(layout.box_height), 1};
}

// How many stages of each kind fit; also room for a split tile's sums. Where every stage of weights
// comes with its own input there are as many of both.
bool set_shared(ConvPlan& plan) {
  ConvGeometry& g = plan.geometry;
  const int input = (plan.tile.tile_groups() >> g.unit_shift) * g.unit_stride;
  const int weights = g.taps_per_stage * plan.tile.columns * plan.row_bytes;
  const int room = kMostShared - kBoxAlignment;
  if (g.taps == g.taps_per_stage) {
    g.input_stages = std::min(kMaxInputStages, room / (input + weights));
    g.weight_stages = g.input_stages;
  } else {
    g.input_stages = 2;
    g.weight_stages = std::min(kMaxWeightStages, (room - 2 * input) / weights);
  }
  const int sums = plan.tile.rows() * plan.tile.columns * 4;
  plan.shared_bytes =
      kBoxAlignment + std::max(g.input_stages * input + g.weight_stages * weights, sums);
  return g.input_stages >= 2 && g.weight_stages >= kFewestStages &&
         plan.shared_bytes <= kMostShared;
}

// Cycles of a tile: of its products, or of bringing its operands from the L2 cache.
double tile_cycles(const ConvPlan& plan) {
  constexpr double kBytesPerCycle = 30;  // of a multiprocessor, when all read
  const ConvGeometry& g = plan.geometry;
  const double depth = static_cast<double>(g.channel_blocks) * plan.row_bytes * g.taps;
  // Narrow tiles read shared memory as fast as they multiply.
  const double rate = kMacsPerCycle * (plan.tile.columns == 128 ? 0.9 : 0.75);
  const double products = plan.tile.rows() * depth * plan.tile.columns / rate;
  const double inputs = static_cast<double>(g.channel_blocks) *
                        (plan.tile.tile_groups() >> g.unit_shift) * g.unit_bytes;
  return std::max(products, (inputs + depth * plan.tile.columns) / kBytesPerCycle);
}

// Cycles, fitted to one H200. Some warpgroups finish their tiles while others multiply, so that the
// longer counts.
double estimate(const ConvPlan& plan, int multiprocessors) {
  constexpr double kLaunch = 3000;
  constexpr double kTurn = 1000;  // from one tile to the next
  const ConvGeometry& g = plan.geometry;
  const double tile = tile_cycles(plan);
  const double finish = 4000.0 * plan.tile.rows() * plan.tile.columns / (256 * 128);
  const std::int64_t blocks = std::int64_t{g.row_tiles} * g.column_blocks.divisor() * g.split;
  if (blocks > INT32_MAX) return std::numeric_limits<double>::infinity();
  if (g.split == 1) {
    const auto waves = static_cast<double>(ceil_div(blocks, multiprocessors));
    return kLaunch + finish + waves * (std::max(tile, finish) + kTurn);
  }
  // Larger clusters leave multiprocessors over.
  const int usable = multiprocessors - (g.split >= 4 ? 12 : 0);
  if (usable < g.split) return std::numeric_limits<double>::infinity();
  const double values = plan.tile.groups * plan.tile.columns / 2.0;  // of a thread
  const double exchange = 2500 + 2 * values * values;
  return kLaunch + static_cast<double>(ceil_div(blocks, usable)) * (tile / g.split + exchange);
}

bool is_allowed(const CudaChoices& choices, const ConvTile& tile, int split) {
  return choices.tile_rows == 0 ||
         (choices.tile_rows == tile.rows() && choices.tile_columns == tile.columns &&
          choices.tile_split == split);
}

// `phases`: 4 where `task` is one of four phases.
std::optional<ConvPlan> plan_tile(const ConvTask& task, int phases, const ConvTile& tile,
                                  int split) {
  const std::optional<Layout> layout = best_layout(task, tile.tile_groups());
  if (!layout) return std::nullopt;
  ConvPlan plan;
  plan.geometry = layout->geometry;
  plan.tile = tile;
  plan.row_bytes = task.input.shape.channels % 128 == 0 ? 128 : 64;
  ConvGeometry& g = plan.geometry;
  g.phases = phases;
  g.input_channels = static_cast<int>(task.input.shape.channels);
  g.input_blocks = phases * parts(task.input.shape.channels, plan.row_bytes);
  g.channel_blocks = task.weight_parts * g.input_blocks;
  g.column_blocks = FastDivisor(parts(g.channels, tile.columns));
  g.padded_channels = g.column_blocks.divisor() * tile.columns;
  g.taps_per_stage = plan.row_bytes == 64 && g.kernel_w == 3 ? 3 : 1;
  g.block_stages = g.taps / g.taps_per_stage;
  g.unit_bytes = layout->box_width * layout->box_height * plan.row_bytes;
  g.unit_stride = align(g.unit_bytes);
  g.row_tiles = parts(std::int64_t{g.units} << g.unit_shift, tile.tile_groups());
  g.split = split;
  if (tile == k512x64 && g.taps_per_stage != 3) return std::nullopt;
  const int values = tile.groups * tile.columns / 2;
  constexpr int kSmallestPart = 8;
  if (split > 1 &&
      (split > g.channel_blocks * (g.taps / g.taps_per_stage) || values / split < kSmallestPart)) {
    return std::nullopt;
  }
  if (!set_shared(plan)) return std::nullopt;
  if (phases == 1) {
    set_input_tensor(task, *layout, plan);
  } else {
    set_phase_tensor(task, *layout, plan);
  }
  plan.cycles = estimate(plan, task.multiprocessors);
  return plan;
}

}  // namespace

std::optional<ConvPlan> plan_conv_wgmma(const ConvTask& task) {
  if (!takes(task)) return std::nullopt;
  const int phases = has_phases(task) ? 4 : 1;
  const ConvTask dense = phases == 1 ? task : phase_of(task);
  std::optional<ConvPlan> best;
  const auto consider = [&](const ConvTile& tile, int split) {
    if (!is_allowed(task.choices, tile, split)) return;
    const std::optional<ConvPlan> plan = plan_tile(dense, phases, tile, split);
    const double most = best ? best->cycles : std::numeric_limits<double>::infinity();
    if (plan && plan->cycles < most) best = plan;
  };
  for (const ConvTile& tile : {k256x128, k128x128, k512x64, k256x64, k128x64}) consider(tile, 1);
  for (const int split : {2, 4, 8}) {
    for (const ConvTile& tile : {kSplit256x128, kSplit256x64, k128x128, k128x64}) {
      consider(tile, split);
    }
  }
  return best;
}

}  // namespace qsim::golden::cuda
