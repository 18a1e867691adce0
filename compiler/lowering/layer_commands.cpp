#include "compiler/lowering/layer_commands.h"

#include <algorithm>

#include "compiler/lowering/command_field.h"

namespace qsim::compiler {

Post common_post(const LayerGeometry& g) {
  Post p;
  p.pool_h = command_field(g.pool.kernel_h);
  p.pool_w = command_field(g.pool.kernel_w);
  p.pool_stride_h = command_field(g.pool.stride_h);
  p.pool_stride_w = command_field(g.pool.stride_w);
  p.add = g.traits().tiles_of_post > 1 ? 1 : 0;
  p.lookup = command_field(g.tables);
  return p;
}

Execute LayerCommands::execute(const Tile& tile, const ActChunk& chunk, Dataflow dataflow,
                               std::int64_t blocks) const {
  const Range rows = transfers_.resident_rows(tile, chunk.kernel_rows);
  const Range cols = transfers_.resident_cols(tile);
  const bool are_vectors = g_.traits().rows_are_vectors;
  Execute e;
  e.in_rows = command_field(rows.size());
  e.in_cols = command_field(cols.size());
  e.act_row_words = command_field(are_vectors ? chunk.planes.size() : cols.size());
  e.act_plane_words = command_field(are_vectors ? 1 : rows.size() * cols.size());
  e.origin_row = static_cast<std::int32_t>(tile.conv_y.begin * g_.window.stride_h -
                                           g_.window.pad_top - rows.begin);
  e.origin_col = static_cast<std::int32_t>(tile.conv_x.begin * g_.window.stride_w -
                                           g_.window.pad_left - cols.begin);
  e.stride_h = command_field(g_.window.stride_h);
  e.stride_w = command_field(g_.window.stride_w);
  e.out_rows = command_field(tile.conv_y.size());
  e.out_cols = command_field(tile.conv_x.size());
  e.pad_value = planned_.layer->pad_value;
  e.dataflow = command_field(static_cast<int>(dataflow));
  e.blocks = command_field(blocks);
  return e;
}

void LayerCommands::set_weights(Execute& e, const ActChunk& act, const WeightChunk& weights,
                                std::int64_t act_addr) const {
  e.act_addr =
      command_field(act_addr + (weights.planes.begin - act.planes.begin) * e.act_plane_words);
  e.origin_row += static_cast<std::int32_t>(weights.kernel_rows.begin * g_.window.dilation_h);
  e.origin_col += static_cast<std::int32_t>(weights.kernel_cols.begin * g_.window.dilation_w);
  e.kernel_h = command_field(weights.kernel_rows.size());
  e.kernel_w = command_field(weights.kernel_cols.size());
  e.planes = command_field(weights.planes.size());
}

Post LayerCommands::post(const Tile& tile, const PostPart& part) const {
  const FusedLayer& layer = *planned_.layer;
  Post p = common_post(g_);
  const bool is_whole = part.out_y == tile.out_y && part.out_x == tile.out_x;
  p.acc_addr = is_whole ? 0
                        : command_field((part.out_y.begin - tile.out_y.begin) * tile.conv_x.size() +
                                        part.out_x.begin - tile.out_x.begin);
  p.in_rows = command_field(is_whole ? tile.conv_y.size() : part.out_y.size());
  p.in_cols = command_field(tile.conv_x.size());
  p.out_rows = command_field(part.out_y.size());
  p.out_cols = command_field(part.out_x.size());
  p.origin_row = static_cast<std::int32_t>(tile.out_y.begin * g_.pool.stride_h - g_.pool.pad_top -
                                           tile.conv_y.begin);
  p.origin_col = static_cast<std::int32_t>(tile.out_x.begin * g_.pool.stride_w - g_.pool.pad_left -
                                           tile.conv_x.begin);
  p.rounding = command_field(static_cast<int>(layer.requantizers.front().rounding));
  p.zero_point = layer.zero_point;
  p.lo = layer.lo;
  p.hi = layer.hi;
  return p;
}

Origin LayerCommands::origin(std::int32_t layer, std::int64_t index, const Tile& tile,
                             std::int64_t first_block, std::int64_t blocks) const {
  Origin o;
  o.layer = layer;
  const auto i32 = [](std::int64_t v) { return static_cast<std::int32_t>(v); };
  o.tile = i32(index);
  const std::int64_t channels = planned_.ofmap.value.shape.channels;
  o.c0 = i32(first_block * arch_.array_cols);
  o.c1 = i32(std::min(channels, (first_block + blocks) * arch_.array_cols));
  const OfmapBox box = transfers_.ofmap_box(tile);
  o.n0 = i32(box.pictures.begin);
  o.n1 = i32(box.pictures.end);
  o.y0 = i32(box.rows.begin);
  o.y1 = i32(box.rows.end);
  o.x0 = i32(box.cols.begin);
  o.x1 = i32(box.cols.end);
  return o;
}

}  // namespace qsim::compiler
