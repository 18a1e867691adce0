#include "compiler/lowering/loop_nest.h"

#include <algorithm>

#include "compiler/lowering/post_parts.h"
#include "core/machine/isa/command_fields.h"

namespace qsim::compiler {
namespace {

constexpr std::int64_t kMaxPlanes = max_of<Execute>("planes");

// So many folds at most in a weight chunk, and in the layer's first.
struct FoldLimits {
  std::int64_t first;
  std::int64_t other;
};

// Appends a part's weight chunks of `act`: each the largest box of folds that follows the one
// before it in the order of the folds.
void append_boxes(Reduction& reduction, const ActChunk& act, std::int64_t part,
                  std::int64_t kernel_w, const FoldLimits& limits) {
  const Range& rows = act.kernel_rows;
  const std::int64_t plane_folds = rows.size() * kernel_w;
  std::int64_t plane = act.planes.begin;
  std::int64_t row = rows.begin;
  std::int64_t col = 0;
  while (plane < act.planes.end) {
    const std::int64_t most = reduction.weights.empty() ? limits.first : limits.other;
    WeightChunk chunk{{plane, plane + 1}, {row, row + 1}, {col, kernel_w}, part, reduction.folds};
    if (row == rows.begin && col == 0 && most >= plane_folds) {
      const std::int64_t planes = std::min(most / plane_folds, kMaxPlanes);
      chunk.planes.end = plane = std::min(act.planes.end, plane + planes);
      chunk.kernel_rows = rows;
    } else if (col == 0 && most >= kernel_w) {
      chunk.kernel_rows.end = row = std::min(rows.end, row + most / kernel_w);
    } else {
      chunk.kernel_cols.end = col = std::min(kernel_w, col + most);
      if (col == kernel_w) {
        col = 0;
        ++row;
      }
    }
    if (row == rows.end) {
      row = rows.begin;
      ++plane;
    }
    reduction.folds += chunk.folds();
    reduction.weights.push_back(chunk);
  }
}

// Likewise where the taps are apart: boxes of one tap.
void append_taps(Reduction& reduction, const ActChunk& act, std::int64_t part,
                 std::int64_t kernel_w, const FoldLimits& limits) {
  for (std::int64_t row = act.kernel_rows.begin; row < act.kernel_rows.end; ++row) {
    for (std::int64_t col = 0; col < kernel_w; ++col) {
      for (std::int64_t plane = act.planes.begin; plane < act.planes.end;) {
        const std::int64_t most = reduction.weights.empty() ? limits.first : limits.other;
        const std::int64_t end = std::min(act.planes.end, plane + std::min(most, kMaxPlanes));
        reduction.weights.push_back(
            {{plane, end}, {row, row + 1}, {col, col + 1}, part, reduction.folds});
        reduction.folds += end - plane;
        plane = end;
      }
    }
  }
}

// Likewise where taps share weights: a fold is one plane's, for all taps of the activation chunk.
void append_shared(Reduction& reduction, const ActChunk& act, std::int64_t part,
                   std::int64_t kernel_w, const FoldLimits& limits) {
  const std::int64_t taps = act.kernel_rows.size() * kernel_w;
  for (std::int64_t plane = act.planes.begin; plane < act.planes.end;) {
    const std::int64_t most = reduction.weights.empty() ? limits.first : limits.other;
    const std::int64_t end = std::min(act.planes.end, plane + std::min(most, kMaxPlanes));
    reduction.weights.push_back({{plane, end}, act.kernel_rows, {0, kernel_w}, part, plane, taps});
    plane = end;
  }
  reduction.folds = act.planes.end;
}

Reduction cut_reduction(std::int64_t planes, const LayerGeometry& g, const Mapping& mapping,
                        std::int64_t first_limit) {
  const Window& window = g.window;
  const FoldLimits limits = {first_limit, mapping.weight_folds};
  const auto append = g.traits().shares_weights ? append_shared
                      : runs_tap_by_tap(window) ? append_taps
                                                : append_boxes;
  Reduction reduction;
  for (std::int64_t p = 0; p < planes; p += mapping.act_planes) {
    for (std::int64_t ky = 0; ky < window.kernel_h; ky += mapping.act_kernel_rows) {
      ActChunk act;
      act.planes = {p, std::min(planes, p + mapping.act_planes)};
      act.kernel_rows = {ky, std::min(window.kernel_h, ky + mapping.act_kernel_rows)};
      act.first_weight = reduction.weights.size();
      for (std::int64_t part = 0; part < g.weight_parts; ++part) {
        append(reduction, act, part, window.kernel_w, limits);
      }
      act.end_weight = reduction.weights.size();
      reduction.acts.push_back(act);
    }
  }
  return reduction;
}

}  // namespace

LoopNest::LoopNest(const LayerGeometry& geometry, const Mapping& mapping)
    : g_(geometry),
      mapping_(mapping),
      tile_rows_(ceil_div(geometry.out_rows, mapping.tile_rows)),
      tile_cols_(ceil_div(geometry.out_cols, mapping.tile_cols)),
      tiles_(checked_mul(geometry.pictures, checked_mul(tile_rows_, tile_cols_))),
      set_tiles_(mapping.tiles_per_half * mapping.halves_per_pass),
      sets_(ceil_div(tiles_, set_tiles_)),
      groups_(ceil_div(geometry.column_blocks, mapping.blocks)) {
  const std::int64_t planes = g_.planes_of(0).size();
  rest_ = cut_reduction(planes, g_, mapping, mapping.weight_folds);
  first_ = cut_reduction(planes, g_, mapping, mapping.first_weight_folds);
  const std::int64_t last_planes = g_.planes_of(g_.column_blocks - 1).size();
  has_last_ = last_planes != planes;
  if (has_last_) last_ = cut_reduction(last_planes, g_, mapping, mapping.weight_folds);
}

Tile LoopNest::tile(std::int64_t index) const {
  const std::int64_t of_picture = tile_rows_ * tile_cols_;
  Tile tile;
  std::int64_t position = 0;
  if (mapping_.batch_inner) {
    tile.picture = index % g_.pictures;
    position = index / g_.pictures;
  } else {
    tile.picture = index / of_picture;
    position = index % of_picture;
  }
  const std::int64_t y = position / tile_cols_ * mapping_.tile_rows;
  const std::int64_t x = position % tile_cols_ * mapping_.tile_cols;
  tile.out_y = {y, std::min(g_.out_rows, y + mapping_.tile_rows)};
  tile.out_x = {x, std::min(g_.out_cols, x + mapping_.tile_cols)};
  tile.conv_y =
      conv_range(tile.out_y, g_.pool.kernel_h, g_.pool.stride_h, g_.pool.pad_top, g_.conv_rows);
  tile.conv_x =
      conv_range(tile.out_x, g_.pool.kernel_w, g_.pool.stride_w, g_.pool.pad_left, g_.conv_cols);
  return tile;
}

std::int64_t LoopNest::blocks_of_group(std::int64_t group) const {
  return std::min(mapping_.blocks, g_.column_blocks - group * mapping_.blocks);
}

const Reduction& LoopNest::reduction_of_group(std::int64_t group) const {
  return has_last_ && group == groups_ - 1 ? last_ : rest_;
}

std::int64_t LoopNest::folds_before(std::int64_t block) const { return block * rest_.folds; }

std::int64_t LoopNest::param_loads() const {
  if (params_stay()) return g_.column_blocks;
  if (g_.param_blocks() > 1) {
    const PostCounts posts = count_posts(g_, mapping_.tile_rows, mapping_.tile_cols);
    return g_.pictures * g_.column_blocks * posts.numbers;
  }
  const bool tiles_outer = mapping_.order == LoopOrder::kTilesOuter;
  const std::int64_t full_sets = tiles_ / set_tiles_;
  const std::int64_t turns =
      full_sets * turns_of(set_tiles_) + turns_of(tiles_ - full_sets * set_tiles_);
  std::int64_t loads = 0;
  for (std::int64_t group = 0; group < groups_; ++group) {
    const std::int64_t blocks = blocks_of_group(group);
    // One block's parameters serve all uses of halves that follow one another.
    loads += blocks > 1 ? blocks * turns : tiles_outer ? sets_ : 1;
  }
  return loads;
}

std::int64_t Reduction::executes() const {
  std::int64_t executes = 0;
  for (const WeightChunk& chunk : weights) executes += chunk.executes;
  return executes;
}

CommandCounts LoopNest::counts() const {
  const auto size = [](const auto& chunks) { return static_cast<std::int64_t>(chunks.size()); };
  std::int64_t weights = 0;  // chunks of a pass, over all block groups
  std::int64_t executes = 0;
  std::int64_t acts = 0;
  for (std::int64_t group = 0; group < groups_; ++group) {
    weights += size(reduction_of_group(group).weights);
    executes += executes_of_group(group);
    acts += size(reduction_of_group(group).acts);
  }
  // Where `first_` is used.
  const std::int64_t more = size(first_.weights) - size(rest_.weights);
  const std::int64_t more_executes = first_.executes() - rest_.executes();
  CommandCounts counts;
  const std::int64_t first_tiles =
      mapping_.weights_resident ? tiles_ : std::min(tiles_, set_tiles_);
  counts.executes = checked_mul(tiles_, executes) + more_executes * first_tiles;
  counts.weight_loads = (mapping_.weights_resident ? weights : checked_mul(sets_, weights)) + more;
  counts.act_loads = checked_mul(tiles_, mapping_.acts_resident ? size(rest_.acts) : acts);
  const std::int64_t full_sets = tiles_ / set_tiles_;
  counts.turns =
      groups_ * (full_sets * turns_of(set_tiles_) + turns_of(tiles_ - full_sets * set_tiles_));
  const PostCounts posts = count_posts(g_, mapping_.tile_rows, mapping_.tile_cols);
  counts.posts = checked_mul(checked_mul(g_.pictures, posts.posts), g_.column_blocks);
  counts.param_loads = param_loads();
  counts.table_loads = g_.tables * counts.param_loads;
  return counts;
}

Pass LoopNest::first_pass() const {
  Pass pass;
  enter(pass);
  return pass;
}

// Where `pass` is, from its set and group; its running numbers are there already.
void LoopNest::enter(Pass& pass) const {
  pass.first_tile = pass.set * set_tiles_;
  pass.tiles = std::min(set_tiles_, tiles_ - pass.first_tile);
  pass.first_block = pass.group * mapping_.blocks;
  pass.blocks = blocks_of_group(pass.group);
  const bool has_first = mapping_.weights_resident ? pass.group == 0 : pass.index == 0;
  pass.reduction = has_first ? &first_ : &reduction_of_group(pass.group);
  pass.first_plane = g_.planes_of(pass.first_block).begin;
  pass.loads_acts = !mapping_.acts_resident || pass.group == 0;
  pass.releases_acts = !mapping_.acts_resident || pass.group == groups_ - 1;
  pass.loads_weights = !mapping_.weights_resident || pass.set == 0;
  pass.releases_weights = !mapping_.weights_resident || pass.set == sets_ - 1;
}

bool LoopNest::next(Pass& pass) const {
  const bool tiles_outer = mapping_.order == LoopOrder::kTilesOuter;
  const Pass done = pass;
  std::int64_t& inner = tiles_outer ? pass.group : pass.set;
  std::int64_t& outer = tiles_outer ? pass.set : pass.group;
  if (++inner == (tiles_outer ? groups_ : sets_)) {
    inner = 0;
    if (++outer == (tiles_outer ? sets_ : groups_)) return false;
  }
  ++pass.index;
  pass.first_step += done.steps();
  pass.first_turn += turns_of(done.tiles);
  enter(pass);
  if (done.loads_acts) pass.acts_loaded += done.act_chunks();
  if (done.loads_weights) pass.weights_loaded += std::ssize(done.reduction->weights);
  // Chunks that stay have the numbers under which they were loaded.
  const std::int64_t act_chunks = static_cast<std::int64_t>(pass.reduction->acts.size());
  pass.first_act = pass.loads_acts ? pass.acts_loaded : pass.first_tile * act_chunks;
  if (pass.loads_weights) {
    pass.first_weight = pass.weights_loaded;
  } else if (tiles_outer) {
    pass.first_weight =
        pass.group == 0 ? 0
                        : std::ssize(first_.weights) + (pass.group - 1) * std::ssize(rest_.weights);
  }
  return true;
}

ActLoads::ActLoads(const LoopNest& nest) : nest_(nest), pass_(nest.first_pass()) {
  step_ = pass_.first_step;
}

void ActLoads::next() {
  if (++tile_ < pass_.tiles) return;
  tile_ = 0;
  step_ += chunk().weights() * pass_.tiles;
  if (++chunk_ < std::ssize(pass_.reduction->acts)) return;
  chunk_ = 0;
  do {
    at_end_ = !nest_.next(pass_);
  } while (!at_end_ && !pass_.loads_acts);
  step_ = pass_.first_step;
}

WeightLoads::WeightLoads(const LoopNest& nest) : nest_(nest), pass_(nest.first_pass()) {}

void WeightLoads::next() {
  if (++chunk_ < std::ssize(pass_.reduction->weights)) return;
  chunk_ = 0;
  do {
    at_end_ = !nest_.next(pass_);
  } while (!at_end_ && !pass_.loads_weights);
}

}  // namespace qsim::compiler
