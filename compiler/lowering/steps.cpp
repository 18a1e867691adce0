#include "compiler/lowering/steps.h"

#include <algorithm>

#include "compiler/lowering/command_field.h"
#include "compiler/lowering/step_transfers.h"
#include "core/checked_math.h"

namespace qsim {
namespace {

std::vector<Range> split(std::int64_t size, std::int64_t step) {
  std::vector<Range> ranges;
  for (std::int64_t begin = 0; begin < size; begin += step) {
    ranges.push_back({begin, std::min(size, begin + step)});
  }
  return ranges;
}

class LayerSteps {
 public:
  LayerSteps(const PlannedLayer& planned, std::int32_t layer_index, const ArchConfig& arch)
      : planned_(planned),
        g_(planned.geometry),
        arch_(arch),
        transfers_(planned, arch),
        layer_index_(layer_index),
        act_is_resident_(act_is_resident(planned.geometry, planned.tiling)) {
    const std::int64_t different = g_.is_identity ? g_.column_blocks : 1;
    for (std::int64_t block = 0; block < different; ++block) {
      chunks_.push_back(reduction_chunks(g_, planned.tiling, block, arch));
    }
  }

  StepCounts counts() const {
    StepCounts tile;
    tile.groups = g_.column_blocks;
    for (std::int64_t block = 0; block < g_.column_blocks; ++block) {
      const std::vector<ActChunk>& chunks = chunks_of(block);
      if (loads_acts(block)) tile.act_loads += std::ssize(chunks);
      for (const ActChunk& chunk : chunks) tile.steps += std::ssize(chunk.weights);
    }
    const std::int64_t tiles = g_.pictures * ceil_div(g_.out_rows, planned_.tiling.out_rows) *
                               ceil_div(g_.out_cols, planned_.tiling.out_cols);
    return {checked_mul(tiles, tile.steps), checked_mul(tiles, tile.act_loads),
            checked_mul(tiles, tile.groups)};
  }

  void for_each(const std::function<void(const Step&)>& visit) {
    for (std::int64_t n = 0; n < g_.pictures; ++n) {
      for (const Range& y : split(g_.out_rows, planned_.tiling.out_rows)) {
        for (const Range& x : split(g_.out_cols, planned_.tiling.out_cols)) {
          visit_tile(
              {n, y, x,
               conv_range(y, g_.pool.kernel_h, g_.pool.stride_h, g_.pool.pad_top, g_.conv_rows),
               conv_range(x, g_.pool.kernel_w, g_.pool.stride_w, g_.pool.pad_left, g_.conv_cols)},
              visit);
          ++tile_index_;
        }
      }
    }
  }

 private:
  void visit_tile(const Tile& tile, const std::function<void(const Step&)>& visit) const {
    std::int64_t weight_address = planned_.weights_address;
    for (std::int64_t block = 0; block < g_.column_blocks; ++block) {
      const bool loads = loads_acts(block);
      const bool releases = !act_is_resident_ || block == g_.column_blocks - 1;
      const std::vector<ActChunk>& chunks = chunks_of(block);
      for (const ActChunk& chunk : chunks) {
        for (std::size_t i = 0; i < chunk.weights.size(); ++i) {
          Step step;
          step.origin = origin(tile, block);
          if (loads && i == 0) step.act = transfers_.act_load(tile, chunk);
          step.last_use_of_act = releases && i + 1 == chunk.weights.size();
          step.weight = transfers_.weight_load(chunk.weights[i], weight_address);
          step.execute = execute(tile, chunk, chunk.weights[i]);
          step.starts_group = &chunk == &chunks.front() && i == 0;
          step.execute.accumulate = step.starts_group ? 0 : 1;
          weight_address += step.weight.run_bytes;
          if (&chunk == &chunks.back() && i + 1 == chunk.weights.size()) {
            step.group_end =
                GroupEnd{transfers_.param_load(block), post(tile), transfers_.store(tile, block)};
          }
          visit(step);
        }
      }
    }
  }

  bool loads_acts(std::int64_t block) const { return !act_is_resident_ || block == 0; }

  const std::vector<ActChunk>& chunks_of(std::int64_t block) const {
    return chunks_[g_.is_identity ? static_cast<std::size_t>(block) : 0];
  }

  Origin origin(const Tile& tile, std::int64_t block) const {
    Origin o;
    o.layer = layer_index_;
    o.tile = tile_index_;
    const auto i32 = [](std::int64_t v) { return static_cast<std::int32_t>(v); };
    const std::int64_t channels = planned_.ofmap.value.shape.channels;
    o.c0 = i32(block * arch_.array_cols);
    o.c1 = i32(std::min(channels, (block + 1) * arch_.array_cols));
    if (g_.is_vector) {  // rows are input vectors; the ofmap's pictures are 1 x 1
      o.n0 = i32(tile.out_y.begin);
      o.n1 = i32(tile.out_y.end);
      o.y1 = 1;
      o.x1 = 1;
      return o;
    }
    o.n0 = i32(tile.picture);
    o.n1 = i32(tile.picture + 1);
    o.y0 = i32(tile.out_y.begin);
    o.y1 = i32(tile.out_y.end);
    o.x0 = i32(tile.out_x.begin);
    o.x1 = i32(tile.out_x.end);
    return o;
  }

  Execute execute(const Tile& tile, const ActChunk& chunk, const WeightChunk& weights) const {
    const Range rows = g_.is_vector ? tile.conv_y : transfers_.resident_rows(tile, chunk);
    const Range cols = g_.is_vector ? Range{0, 1} : transfers_.resident_cols(tile);
    const Window& window = g_.window;
    Execute e;
    e.in_rows = command_field(rows.size());
    e.in_cols = command_field(cols.size());
    e.act_row_words = command_field(g_.is_vector ? chunk.planes.size() : cols.size());
    e.act_plane_words = command_field(g_.is_vector ? 1 : rows.size() * cols.size());
    e.act_addr = command_field((weights.planes.begin - chunk.planes.begin) * e.act_plane_words);
    e.origin_row =
        static_cast<std::int32_t>(tile.conv_y.begin * window.stride_h + weights.kernel_rows.begin -
                                  window.pad_top - rows.begin);
    e.origin_col =
        static_cast<std::int32_t>(tile.conv_x.begin * window.stride_w + weights.kernel_cols.begin -
                                  window.pad_left - cols.begin);
    e.kernel_h = command_field(weights.kernel_rows.size());
    e.kernel_w = command_field(weights.kernel_cols.size());
    e.stride_h = command_field(window.stride_h);
    e.stride_w = command_field(window.stride_w);
    e.planes = command_field(weights.planes.size());
    e.out_rows = command_field(tile.conv_y.size());
    e.out_cols = command_field(tile.conv_x.size());
    e.pad_value = planned_.layer->pad_value;
    return e;
  }

  Post post(const Tile& tile) const {
    const FusedLayer& layer = *planned_.layer;
    Post p;
    p.in_rows = command_field(tile.conv_y.size());
    p.in_cols = command_field(tile.conv_x.size());
    p.out_rows = command_field(tile.out_y.size());
    p.out_cols = command_field(tile.out_x.size());
    p.pool_h = command_field(g_.pool.kernel_h);
    p.pool_w = command_field(g_.pool.kernel_w);
    p.pool_stride_h = command_field(g_.pool.stride_h);
    p.pool_stride_w = command_field(g_.pool.stride_w);
    p.origin_row = static_cast<std::int32_t>(tile.out_y.begin * g_.pool.stride_h - g_.pool.pad_top -
                                             tile.conv_y.begin);
    p.origin_col = static_cast<std::int32_t>(tile.out_x.begin * g_.pool.stride_w -
                                             g_.pool.pad_left - tile.conv_x.begin);
    p.rounding = command_field(static_cast<int>(layer.rounding));
    p.zero_point = layer.zero_point;
    p.lo = layer.lo;
    p.hi = layer.hi;
    return p;
  }

  const PlannedLayer& planned_;
  const LayerGeometry& g_;
  const ArchConfig& arch_;
  StepTransfers transfers_;
  std::int32_t layer_index_;
  bool act_is_resident_;
  std::vector<std::vector<ActChunk>> chunks_;  // of each column block; one entry where all agree
  std::int32_t tile_index_ = 0;
};

}  // namespace

StepCounts count_steps(const PlannedLayer& planned, const ArchConfig& arch) {
  return LayerSteps(planned, 0, arch).counts();
}

void for_each_step(const PlannedLayer& planned, std::int32_t layer_index, const ArchConfig& arch,
                   const std::function<void(const Step&)>& visit) {
  LayerSteps(planned, layer_index, arch).for_each(visit);
}

}  // namespace qsim
