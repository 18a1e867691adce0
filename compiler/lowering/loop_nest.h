// The one loop nest of a layer: which psum tile, column block, activation chunk and weight chunk
// each EXECUTE works on, in which order, and which LOAD brings what. The schedule makes commands of
// its steps, packing lays weights out in its order, and counts come from it; nothing else loops
// over tiles, blocks or chunks. It has no addresses, no tokens and no time.
//
//   tiles_outer                          blocks_outer
//   for each tile set                    for each block group
//     for each block group                 for each tile set          -> a pass of the weights
//
//   a pass: for each activation chunk
//             for each weight chunk
//               for each psum tile of the set                         -> a step: one EXECUTE
#pragma once

#include <type_traits>
#include <vector>

#include "compiler/lowering/mapping.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {

// A psum tile: ofmap positions of one picture, and the psum positions under them.
struct Tile {
  std::int64_t picture = 0;
  Range out_y, out_x;
  Range conv_y, conv_x;
  std::int64_t psums() const { return conv_y.size() * conv_x.size(); }
};

// Folds whose weights one LOAD brings: a box of the reduction, which is one EXECUTE. Where taps
// share weights, each tap is an EXECUTE, and all have the same fold of weights for a plane.
struct WeightChunk {
  Range planes;
  Range kernel_rows;
  Range kernel_cols;
  std::int64_t part = 0;        // of the weights
  std::int64_t first_fold = 0;  // folds of the column block before it
  std::int64_t executes = 1;
  std::int64_t folds() const { return planes.size() * kernel_rows.size() * kernel_cols.size(); }
  std::int64_t weight_folds() const { return folds() / executes; }  // with weights of their own
  // The box of an EXECUTE.
  Range rows_of(std::int64_t execute) const {
    const std::int64_t row = kernel_rows.begin + execute / kernel_cols.size();
    return executes > 1 ? Range{row, row + 1} : kernel_rows;
  }
  Range cols_of(std::int64_t execute) const {
    const std::int64_t col = kernel_cols.begin + execute % kernel_cols.size();
    return executes > 1 ? Range{col, col + 1} : kernel_cols;
  }
};

// The part of the reduction whose activations one LOAD brings for one psum tile.
struct ActChunk {
  Range planes;
  Range kernel_rows;
  std::size_t first_weight = 0;  // its weight chunks: [first_weight, end_weight)
  std::size_t end_weight = 0;
  std::int64_t weights() const { return static_cast<std::int64_t>(end_weight - first_weight); }
};

// The reduction of a column block, cut. The folds of a column block are in the order of activation
// chunk, part of the weights, plane, kernel row, kernel column, however they are cut into weight
// chunks; where taps are apart, the planes come after the kernel column. Where taps share weights,
// there is one fold a plane.
struct Reduction {
  std::vector<ActChunk> acts;
  std::vector<WeightChunk> weights;
  std::int64_t folds = 0;         // that have weights of their own
  std::int64_t executes() const;  // of a psum tile
};

// One pass of a block group's weights over a tile set. Numbers count within the layer, from 0.
struct Pass {
  std::int64_t index = 0;
  std::int64_t set = 0;
  std::int64_t group = 0;
  std::int64_t first_tile = 0;
  std::int64_t tiles = 0;
  std::int64_t first_block = 0;  // the group's column blocks
  std::int64_t blocks = 0;
  const Reduction* reduction = nullptr;
  std::int64_t first_plane = 0;  // the reduction's plane 0
  std::int64_t first_step = 0;
  std::int64_t first_turn = 0;    // uses of accumulator halves, which go round
  std::int64_t first_act = 0;     // LOAD that brings the first activation chunk; the others follow
  std::int64_t first_weight = 0;  // likewise
  std::int64_t acts_loaded = 0;   // LOADs of activations before this pass
  std::int64_t weights_loaded = 0;
  bool loads_acts = false;  // or they are there since an earlier pass
  bool loads_weights = false;
  bool releases_acts = false;  // no later pass uses them
  bool releases_weights = false;

  std::int64_t steps() const { return tiles * std::ssize(reduction->weights); }
  std::int64_t act_chunks() const { return tiles * std::ssize(reduction->acts); }
};

// One EXECUTE.
struct Step {
  const Pass& pass;
  std::int64_t index = 0;  // of taps that share weights, the same for all
  std::int64_t tile = 0;   // of the set
  const ActChunk& act;
  const WeightChunk& weight;
  std::int64_t act_load = 0;  // the LOAD that brought the activations; and the weights
  std::int64_t weight_load = 0;
  std::int64_t turn = 0;  // of the accumulator halves
  std::int64_t tile_of_half = 0;
  std::int64_t operand = 0;       // whose psums these are, where POST adds operands' tiles
  bool first_use_of_act = false;  // of that LOAD's words
  bool last_use_of_act = false;
  bool first_use_of_weight = false;
  bool last_use_of_weight = false;
  bool first_of_psums = false;  // overwrites the tile's psums; all others add to them
  bool starts_turn = false;     // first EXECUTE into this half
  bool ends_turn = false;       // the half's psums are complete
  // The weight chunk's, or one tap of it.
  Range kernel_rows = {};
  Range kernel_cols = {};
};

// How many commands a layer becomes.
struct CommandCounts {
  std::int64_t executes = 0;
  std::int64_t act_loads = 0;
  std::int64_t weight_loads = 0;
  std::int64_t param_loads = 0;
  std::int64_t table_loads = 0;
  std::int64_t turns = 0;  // uses of accumulator halves
  std::int64_t posts = 0;  // as many STOREs

  std::int64_t loads() const { return act_loads + weight_loads + param_loads + table_loads; }
  std::int64_t all() const { return loads() + executes + 2 * posts; }
};

class LoopNest {
 public:
  // The mapping must be valid for the layer. Copies what it needs.
  LoopNest(const LayerGeometry& geometry, const Mapping& mapping);
  LoopNest(const LoopNest&) = delete;
  LoopNest& operator=(const LoopNest&) = delete;

  const LayerGeometry& geometry() const { return g_; }
  const Mapping& mapping() const { return mapping_; }
  CommandCounts counts() const;

  std::int64_t tiles() const { return tiles_; }
  Tile tile(std::int64_t index) const;
  std::int64_t blocks_of_group(std::int64_t group) const;
  const Reduction& reduction_of_group(std::int64_t group) const;
  // Of a pass in which the weights are loaded and stay.
  std::int64_t weight_chunks_of_group(std::int64_t group) const {
    return std::ssize(group == 0 ? first_.weights : reduction_of_group(group).weights);
  }
  // EXECUTEs of a psum tile; in the pass in which weights are loaded and stay, and in the others.
  std::int64_t first_executes_of_group(std::int64_t group) const {
    return (group == 0 ? first_ : reduction_of_group(group)).executes();
  }
  std::int64_t executes_of_group(std::int64_t group) const {
    return reduction_of_group(group).executes();
  }
  // Whether the layer's first pass has an activation chunk with several weight chunks.
  bool splits_first_chunk() const { return first_.weights.size() > first_.acts.size(); }
  // Folds of all column blocks before `block`, as they are packed.
  std::int64_t folds_before(std::int64_t block) const;
  std::int64_t groups() const { return groups_; }
  std::int64_t sets() const { return sets_; }
  // Whether the parameters of a column block stay in the parameter memory for the layer, each block
  // in a slot of its own.
  bool params_stay() const { return g_.param_blocks() == 1 && g_.column_blocks <= kParamSlots; }

  Pass first_pass() const;
  // Makes `pass` the pass after it; false after the last.
  bool next(Pass& pass) const;

  // Calls visit(const Step&) for every step, in order. It returns nothing, or whether to go on;
  // false when it has stopped.
  template <typename Visit>
  bool for_each_step(Visit&& visit) const;

 private:
  void enter(Pass& pass) const;
  // Accumulator halves that so many psum tiles take.
  std::int64_t turns_of(std::int64_t tiles) const {
    return ceil_div(tiles, mapping_.tiles_per_half);
  }
  // Column blocks whose parameters are loaded for each use of an accumulator half, and of a tile
  // set; see Schedule.
  std::int64_t param_loads() const;
  template <typename Visit>
  bool visit_pass(const Pass& pass, Visit& visit) const;

  LayerGeometry g_;
  Mapping mapping_;
  std::int64_t tile_rows_ = 1;  // rows and columns of psum tiles of a picture
  std::int64_t tile_cols_ = 1;
  std::int64_t tiles_ = 1;
  std::int64_t set_tiles_ = 1;
  std::int64_t sets_ = 1;
  std::int64_t groups_ = 1;
  Reduction first_;  // with the layer's first weight chunk
  Reduction rest_;
  Reduction last_;  // of the last column block, if it has fewer planes
  bool has_last_ = false;
};

// The order of a layer's LOADs of one kind, each with the step that is the first to need it.
class ActLoads {
 public:
  explicit ActLoads(const LoopNest& nest);
  bool at_end() const { return at_end_; }
  std::int64_t number() const { return pass_.first_act + chunk_ * pass_.tiles + tile_; }
  std::int64_t needed_by() const { return step_ + tile_; }
  const Pass& pass() const { return pass_; }
  std::int64_t tile() const { return pass_.first_tile + tile_; }  // of the layer
  const ActChunk& chunk() const { return pass_.reduction->acts[static_cast<std::size_t>(chunk_)]; }
  void next();

 private:
  const LoopNest& nest_;
  Pass pass_;
  std::int64_t chunk_ = 0;
  std::int64_t tile_ = 0;
  std::int64_t step_ = 0;  // the chunk's first
  bool at_end_ = false;
};

class WeightLoads {
 public:
  explicit WeightLoads(const LoopNest& nest);
  bool at_end() const { return at_end_; }
  std::int64_t number() const { return pass_.first_weight + chunk_; }
  std::int64_t needed_by() const { return pass_.first_step + chunk_ * pass_.tiles; }
  const Pass& pass() const { return pass_; }
  const WeightChunk& chunk() const {
    return pass_.reduction->weights[static_cast<std::size_t>(chunk_)];
  }
  void next();

 private:
  const LoopNest& nest_;
  Pass pass_;
  std::int64_t chunk_ = 0;
  bool at_end_ = false;
};

template <typename Visit>
bool LoopNest::for_each_step(Visit&& visit) const {
  Pass pass = first_pass();
  do {
    if (!visit_pass(pass, visit)) return false;
  } while (next(pass));
  return true;
}

template <typename Visit>
bool LoopNest::visit_pass(const Pass& pass, Visit& visit) const {
  const std::vector<ActChunk>& acts = pass.reduction->acts;
  const std::int64_t m = mapping_.tiles_per_half;
  const bool has_tile_each = g_.traits().tiles_of_post > 1;  // each activation chunk
  std::int64_t index = pass.first_step;
  for (std::size_t a = 0; a < acts.size(); ++a) {
    const ActChunk& act = acts[a];
    for (std::size_t w = act.first_weight; w < act.end_weight; ++w) {
      const WeightChunk& chunk = pass.reduction->weights[w];
      const bool is_first = a == 0 && w == 0;
      const bool overwrites = has_tile_each ? w == act.first_weight : is_first;
      const bool is_last = w + 1 == pass.reduction->weights.size();
      std::int64_t turn = pass.first_turn;
      std::int64_t tile_of_half = 0;
      for (std::int64_t t = 0; t < pass.tiles; ++t) {
        const bool last_tile = t + 1 == pass.tiles;
        for (std::int64_t tap = 0; tap < chunk.executes; ++tap) {
          const bool is_first_tap = tap == 0;
          const bool is_last_tap = tap + 1 == chunk.executes;
          const Step step{pass,
                          index,
                          t,
                          act,
                          chunk,
                          pass.first_act + static_cast<std::int64_t>(a) * pass.tiles + t,
                          pass.first_weight + static_cast<std::int64_t>(w),
                          turn,
                          tile_of_half,
                          has_tile_each ? static_cast<std::int64_t>(a) : 0,
                          pass.loads_acts && w == act.first_weight && is_first_tap,
                          pass.releases_acts && w + 1 == act.end_weight && is_last_tap,
                          pass.loads_weights && t == 0 && is_first_tap,
                          pass.releases_weights && last_tile && is_last_tap,
                          overwrites && is_first_tap,
                          is_first && tile_of_half == 0 && is_first_tap,
                          is_last && (last_tile || tile_of_half + 1 == m) && is_last_tap,
                          chunk.rows_of(tap),
                          chunk.cols_of(tap)};
          if constexpr (std::is_void_v<decltype(visit(step))>) {
            visit(step);
          } else if (!visit(step)) {
            return false;
          }
        }
        ++index;
        if (++tile_of_half == m) {
          tile_of_half = 0;
          ++turn;
        }
      }
    }
  }
  return true;
}

}  // namespace qsim::compiler
