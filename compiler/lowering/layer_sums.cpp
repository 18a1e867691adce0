#include "compiler/lowering/layer_sums.h"

#include <algorithm>

#include "compiler/lowering/post_parts.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

Range conv_under(const LayerGeometry& g, Axis axis, Range out) {
  return axis == Axis::kRows
             ? conv_range(out, g.pool.kernel_h, g.pool.stride_h, g.pool.pad_top, g.conv_rows)
             : conv_range(out, g.pool.kernel_w, g.pool.stride_w, g.pool.pad_left, g.conv_cols);
}

Range inputs_range(const LayerGeometry& g, Axis axis, Range conv, Range kernel) {
  return axis == Axis::kRows ? input_range(conv, kernel, g.window.stride_h, g.window.dilation_h,
                                           g.window.pad_top, g.in_rows)
                             : input_range(conv, kernel, g.window.stride_w, g.window.dilation_w,
                                           g.window.pad_left, g.in_cols);
}

std::int64_t inputs_of(const LayerGeometry& g, Axis axis, Range conv, Range kernel) {
  return inputs_range(g, axis, conv, kernel).size();
}

Range whole_kernel(const LayerGeometry& g, Axis axis) {
  return {0, axis == Axis::kRows ? g.window.kernel_h : g.window.kernel_w};
}

// How many kernel positions of the psum positions are inside the ifmap, along an axis.
std::int64_t inside(const LayerGeometry& g, Axis axis, Range conv) {
  const bool is_rows = axis == Axis::kRows;
  const std::int64_t stride = is_rows ? g.window.stride_h : g.window.stride_w;
  const std::int64_t pad = is_rows ? g.window.pad_top : g.window.pad_left;
  const std::int64_t dilation = is_rows ? g.window.dilation_h : g.window.dilation_w;
  const std::int64_t size = is_rows ? g.in_rows : g.in_cols;
  std::int64_t count = 0;
  for (std::int64_t tap = 0; tap < whole_kernel(g, axis).end; ++tap) {
    const std::int64_t k = tap * dilation;
    // Positions p of which 0 <= p * stride + k - pad < size.
    const std::int64_t first = k < pad ? ceil_div(pad - k, stride) : 0;
    const std::int64_t end = size + pad <= k ? 0 : ceil_div(size + pad - k, stride);
    count += std::max<std::int64_t>(0, std::min(conv.end, end) - std::max(conv.begin, first));
  }
  return count;
}

std::int64_t outputs_along(const LayerGeometry& g, Axis axis) {
  return axis == Axis::kRows ? g.out_rows : g.out_cols;
}

}  // namespace

AxisCut cut_axis(const LayerGeometry& g, Axis axis, std::int64_t size) {
  AxisCut cut;
  cut.size = size;
  const std::int64_t whole = outputs_along(g, axis);
  for (std::int64_t begin = 0; begin < whole; begin += size) {
    const Range out{begin, std::min(whole, begin + size)};
    const Range conv = conv_under(g, axis, out);
    const std::int64_t inputs = inputs_of(g, axis, conv, whole_kernel(g, axis));
    cut.whole_kernel_inputs += inputs;
    if (begin == 0) {
      cut.first_inputs = inputs;
      cut.first_psums = conv.size();
    }
    cut.last_psums = conv.size();
    cut.last_outputs = out.size();
    cut.window_inputs += inside(g, axis, conv);
    const auto same = std::find_if(cut.parts.begin(), cut.parts.end(),
                                   [&](const AxisCut::Parts& p) { return p.psums == conv.size(); });
    if (same == cut.parts.end()) {
      cut.parts.push_back({conv.size(), 1});
    } else {
      ++same->count;
    }
  }
  return cut;
}

std::int64_t inputs_under(const LayerGeometry& g, Axis axis, std::int64_t size, Range kernel) {
  const std::int64_t whole = outputs_along(g, axis);
  std::int64_t inputs = 0;
  for (std::int64_t begin = 0; begin < whole; begin += size) {
    const Range conv = conv_under(g, axis, {begin, std::min(whole, begin + size)});
    inputs += inputs_of(g, axis, conv, kernel);
  }
  return inputs;
}

namespace {

// Positions under one tap at least; at least one, which is loaded where there is padding alone.
std::int64_t inputs_under_taps(const LayerGeometry& g, Axis axis) {
  const bool is_rows = axis == Axis::kRows;
  const std::int64_t stride = is_rows ? g.window.stride_h : g.window.stride_w;
  const std::int64_t dilation = is_rows ? g.window.dilation_h : g.window.dilation_w;
  const std::int64_t pad = is_rows ? g.window.pad_top : g.window.pad_left;
  std::vector<bool> used(static_cast<std::size_t>(is_rows ? g.in_rows : g.in_cols));
  for (std::int64_t out = 0; out < outputs_along(g, axis); ++out) {
    const Range conv = conv_under(g, axis, {out, out + 1});
    for (std::int64_t position = conv.begin; position < conv.end; ++position) {
      for (std::int64_t tap = 0; tap < whole_kernel(g, axis).end; ++tap) {
        const std::int64_t in = position * stride + tap * dilation - pad;
        if (in >= 0 && in < std::ssize(used)) used[static_cast<std::size_t>(in)] = true;
      }
    }
  }
  return std::max<std::int64_t>(1, std::count(used.begin(), used.end(), true));
}

}  // namespace

std::int64_t used_inputs(const LayerGeometry& g, Axis axis) {
  if (runs_tap_by_tap(g.window)) return inputs_under_taps(g, axis);
  std::int64_t used = 0;
  std::int64_t end = 0;  // positions before it are counted
  for (std::int64_t out = 0; out < outputs_along(g, axis); ++out) {
    const Range conv = conv_under(g, axis, {out, out + 1});
    for (std::int64_t position = conv.begin; position < conv.end; ++position) {
      const Range in = inputs_range(g, axis, {position, position + 1}, whole_kernel(g, axis));
      used += std::max<std::int64_t>(0, in.end - std::max(in.begin, end));
      end = std::max(end, in.end);
    }
  }
  return used;
}

std::int64_t LayerSums::planes() const {
  const std::int64_t last = g_.column_blocks - 1;
  return last * g_.planes_of(0).size() + g_.planes_of(last).size();
}

// Shared weights are loaded once for each activation chunk.
std::int64_t LayerSums::loaded_folds(const Mapping& m) const {
  if (!g_.traits().shares_weights) return folds();
  return planes() * ceil_div(g_.window.kernel_h, m.act_kernel_rows);
}

// Channel blocks of DRAM that LOADs bring for a position, over all chunks along the planes: once
// where they stay for all block groups, else for each group. A chunk begins with one.
std::int64_t LayerSums::act_granules(const Mapping& m) const {
  const auto granules = [&](std::int64_t block) {
    return ceil_div(g_.planes_of(block).size(), g_.granule_planes);
  };
  const bool stay = m.acts_resident && !g_.has_own_planes();
  const std::int64_t groups = stay ? 1 : ceil_div(g_.column_blocks, m.blocks);
  return (groups - 1) * granules(0) + granules(g_.column_blocks - 1);
}

std::int64_t LayerSums::least_input_rows(const AxisCut& rows) const {
  std::int64_t least = rows.whole_kernel_inputs;
  if (!runs_tap_by_tap(g_.window)) return least;
  Mapping mapping;
  mapping.tile_rows = rows.size;
  for (std::int64_t taps = 1; taps < g_.window.kernel_h; ++taps) {
    mapping.act_kernel_rows = taps;
    least = std::min(least, input_rows(mapping, rows));
  }
  return least;
}

std::int64_t LayerSums::input_rows(const Mapping& m, const AxisCut& rows) const {
  if (m.act_kernel_rows == g_.window.kernel_h) return rows.whole_kernel_inputs;
  std::int64_t in_rows = 0;
  for (std::int64_t ky = 0; ky < g_.window.kernel_h; ky += m.act_kernel_rows) {
    const Range kernel{ky, std::min(g_.window.kernel_h, ky + m.act_kernel_rows)};
    in_rows += inputs_under(g_, Axis::kRows, m.tile_rows, kernel);
  }
  return in_rows;
}

LayerBytes LayerSums::bytes(const Mapping& m, std::int64_t input_rows,
                            std::int64_t input_cols) const {
  const std::int64_t sets = ceil_div(tiles(m), m.tiles_per_half * m.halves_per_pass);
  LayerBytes bytes;
  const std::int64_t words = act_granules(m) * g_.granule_planes * input_rows * input_cols;
  bytes.acts = g_.pictures * words * arch_.array_rows;
  bytes.weights =
      loaded_folds(m) * arch_.array_rows * arch_.array_cols * (m.weights_resident ? 1 : sets);
  bytes.params = param_loads(m) * (arch_.param_block_bytes() + g_.tables * kTableBytes);
  bytes.writes = g_.pictures * g_.out_rows * g_.out_cols * g_.column_blocks * arch_.array_cols;
  return bytes;
}

ExecuteTerms LayerSums::terms_of(Dataflow dataflow, std::int64_t psums, std::int64_t blocks) const {
  Execute execute;
  execute.dataflow = static_cast<std::uint32_t>(dataflow);
  execute.blocks = static_cast<std::uint32_t>(blocks);
  execute.planes = execute.kernel_h = execute.kernel_w = execute.out_rows = 1;
  execute.out_cols = static_cast<std::uint32_t>(psums);
  return execute_terms(execute, arch_);
}

std::int64_t LayerSums::fold_cycles(Dataflow dataflow, std::int64_t blocks, const AxisCut& rows,
                                    const AxisCut& cols) const {
  std::int64_t cycles = 0;
  for (const AxisCut::Parts& y : rows.parts) {
    for (const AxisCut::Parts& x : cols.parts) {
      cycles += stream(dataflow, y.psums * x.psums, blocks) * y.count * x.count;
    }
  }
  return cycles;
}

std::int64_t LayerSums::array_cycles(const Mapping& m, const AxisCut& rows,
                                     const AxisCut& cols) const {
  if (m.blocks == 1) return fold_cycles(m.dataflow, 1, rows, cols) * g_.pictures * folds();
  const std::int64_t rest = g_.column_blocks % m.blocks;
  std::int64_t cycles = g_.column_blocks / m.blocks * fold_cycles(m.dataflow, m.blocks, rows, cols);
  if (rest > 0) cycles += fold_cycles(m.dataflow, rest, rows, cols);
  return cycles * g_.pictures * folds() / g_.column_blocks;
}

// As the loop nest counts them: of several counts each tile loads its own. Otherwise one block's
// parameters serve all uses of accumulator halves that follow one another; those of few blocks stay
// for the layer.
std::int64_t LayerSums::param_loads(const Mapping& m) const {
  if (g_.param_blocks() > 1) {
    return g_.pictures * g_.column_blocks * count_posts(g_, m.tile_rows, m.tile_cols).numbers;
  }
  if (g_.column_blocks <= kParamSlots) return g_.column_blocks;
  const std::int64_t all_tiles = tiles(m);
  const std::int64_t set = m.tiles_per_half * m.halves_per_pass;
  const std::int64_t turns =
      all_tiles / set * m.halves_per_pass + ceil_div(all_tiles % set, m.tiles_per_half);
  const std::int64_t once = m.order == LoopOrder::kTilesOuter ? ceil_div(all_tiles, set) : 1;
  // Of a group of several blocks each use of a half loads the parameters of all.
  const std::int64_t rest = g_.column_blocks % m.blocks;
  if (m.blocks == 1) return g_.column_blocks * once;
  return (g_.column_blocks - rest) * turns + (rest == 1 ? once : rest * turns);
}

std::int64_t LayerSums::tiles(const Mapping& m) const {
  return g_.pictures * ceil_div(g_.out_rows, m.tile_rows) * ceil_div(g_.out_cols, m.tile_cols);
}

CommandCounts LayerSums::counts(const Mapping& m, const ChunkCounts& chunks) const {
  const std::int64_t all_tiles = tiles(m);
  const std::int64_t set = m.tiles_per_half * m.halves_per_pass;
  const std::int64_t sets = ceil_div(all_tiles, set);
  const std::int64_t groups = ceil_div(g_.column_blocks, m.blocks);
  std::int64_t acts = groups * chunks.acts;
  std::int64_t weights = groups * chunks.weights;
  std::int64_t executes = groups * chunks.executes;
  // A last column block with planes of its own may have fewer.
  const std::int64_t last_planes = g_.planes_of(g_.column_blocks - 1).size();
  if (last_planes != g_.planes_of(0).size()) {
    const ChunkCounts last = count_chunks(g_, last_planes, m);
    acts += last.acts - chunks.acts;
    weights += last.weights - chunks.weights;
    executes += last.executes - chunks.executes;
  }
  CommandCounts counts;
  counts.executes =
      all_tiles * executes +
      chunks.more_executes * (m.weights_resident ? all_tiles : std::min(all_tiles, set));
  counts.weight_loads = (m.weights_resident ? 1 : sets) * weights + chunks.more_weights;
  counts.act_loads = all_tiles * (m.acts_resident ? chunks.acts : acts);
  counts.turns =
      groups * (all_tiles / set * m.halves_per_pass + ceil_div(all_tiles % set, m.tiles_per_half));
  counts.posts = g_.pictures * g_.column_blocks * count_posts(g_, m.tile_rows, m.tile_cols).posts;
  counts.param_loads = param_loads(m);
  counts.table_loads = g_.tables * counts.param_loads;
  return counts;
}

std::int64_t LayerSums::stream(Dataflow dataflow, std::int64_t psums, std::int64_t blocks) const {
  return static_cast<std::int64_t>(terms_of(dataflow, psums, blocks).stream());
}

std::int64_t LayerSums::fill_and_drain(Dataflow dataflow) const {
  const ExecuteTerms terms = terms_of(dataflow, 1, 1);
  return static_cast<std::int64_t>(terms.fill + terms.drain);
}

}  // namespace qsim::compiler
