#include "compiler/lowering/steps.h"

#include <algorithm>

#include "core/checked_math.h"

namespace qsim {
namespace {

template <typename T>
std::uint32_t u32(T value) {
  QSIM_CHECK(value >= 0 && static_cast<std::uint64_t>(value) <= 0xffffffffu,
             "command field value " + std::to_string(value));
  return static_cast<std::uint32_t>(value);
}

// One tile of one picture: its ofmap positions and the psum positions under them.
struct Tile {
  std::int64_t picture = 0;
  Range out_y, out_x;
  Range conv_y, conv_x;
};

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

  std::vector<Step> build() {
    steps_.reserve(static_cast<std::size_t>(counts().steps));
    for (std::int64_t n = 0; n < g_.pictures; ++n) {
      for (const Range& y : split(g_.out_rows, planned_.tiling.out_rows)) {
        for (const Range& x : split(g_.out_cols, planned_.tiling.out_cols)) {
          add_tile(
              {n, y, x,
               conv_range(y, g_.pool.kernel_h, g_.pool.stride_h, g_.pool.pad_top, g_.conv_rows),
               conv_range(x, g_.pool.kernel_w, g_.pool.stride_w, g_.pool.pad_left, g_.conv_cols)});
          ++tile_index_;
        }
      }
    }
    return std::move(steps_);
  }

 private:
  void add_tile(const Tile& tile) {
    std::int64_t weight_address = planned_.weights_address;
    for (std::int64_t block = 0; block < g_.column_blocks; ++block) {
      const bool loads = loads_acts(block);
      const bool releases = !act_is_resident_ || block == g_.column_blocks - 1;
      const std::vector<ActChunk>& chunks = chunks_of(block);
      for (const ActChunk& chunk : chunks) {
        for (std::size_t i = 0; i < chunk.weights.size(); ++i) {
          Step step;
          step.origin = origin(tile, block);
          if (loads && i == 0) step.act = act_load(tile, chunk);
          step.last_use_of_act = releases && i + 1 == chunk.weights.size();
          step.weight = weight_load(chunk.weights[i], weight_address);
          step.execute = execute(tile, chunk, chunk.weights[i]);
          step.starts_group = &chunk == &chunks.front() && i == 0;
          step.execute.accumulate = step.starts_group ? 0 : 1;
          weight_address += step.weight.run_bytes;
          steps_.push_back(step);
        }
      }
      steps_.back().group_end = GroupEnd{param_load(block), post(tile), store(tile, block)};
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

  Range resident_rows(const Tile& tile, const ActChunk& chunk) const {
    return input_range(tile.conv_y, chunk.kernel_rows, g_.window.stride_h, g_.window.pad_top,
                       g_.in_rows);
  }
  Range resident_cols(const Tile& tile) const {
    return input_range(tile.conv_x, {0, g_.window.kernel_w}, g_.window.stride_w, g_.window.pad_left,
                       g_.in_cols);
  }

  Load act_load(const Tile& tile, const ActChunk& chunk) const {
    return g_.is_vector ? vector_load(tile, chunk) : picture_load(tile, chunk);
  }

  // Input vectors one after the other, `chunk.planes` of each: run by run, no plane order to keep.
  Load vector_load(const Tile& tile, const ActChunk& chunk) const {
    const DramTensor& ifmap = planned_.ifmap;
    Load load;
    load.memory = u32(static_cast<int>(LoadMemory::kActivation));
    load.dram_addr = u32(ifmap.address + tile.conv_y.begin * ifmap.picture_bytes() +
                         chunk.planes.begin * arch_.array_rows);
    load.run_bytes = u32(chunk.planes.size() * arch_.array_rows);
    load.runs = u32(tile.conv_y.size());
    load.run_stride = load.runs > 1 ? u32(ifmap.picture_bytes()) : 0;
    load.groups = 1;
    load.plane_words = 1;
    return load;
  }

  // Planes, rows and columns of a picture; contiguous bytes become one run.
  Load picture_load(const Tile& tile, const ActChunk& chunk) const {
    const DramTensor& ifmap = planned_.ifmap;
    const Range rows = resident_rows(tile, chunk);
    const Range cols = resident_cols(tile);
    const std::int64_t first_block = chunk.planes.begin / g_.granule_planes;
    const std::int64_t blocks =
        (chunk.planes.end + g_.granule_planes - 1) / g_.granule_planes - first_block;
    Load load;
    load.memory = u32(static_cast<int>(LoadMemory::kActivation));
    load.dram_addr =
        u32(ifmap.element_address(tile.picture, rows.begin, cols.begin, first_block * ifmap.block));
    load.plane_words = u32(rows.size() * cols.size());
    std::int64_t run_bytes = cols.size() * ifmap.block;
    std::int64_t runs = rows.size();
    std::int64_t groups = blocks;
    if (cols.size() == g_.in_cols) {
      run_bytes *= runs;
      runs = 1;
    }
    if (cols.size() == g_.in_cols && rows.size() == g_.in_rows) {
      run_bytes *= groups;
      groups = 1;
    }
    load.run_bytes = u32(run_bytes);
    load.runs = u32(runs);
    load.run_stride = runs > 1 ? u32(ifmap.row_bytes()) : 0;
    load.groups = u32(groups);
    load.group_stride = groups > 1 ? u32(ifmap.plane_bytes()) : 0;
    return load;
  }

  Load weight_load(const WeightChunk& chunk, std::int64_t address) const {
    Load load;
    load.memory = u32(static_cast<int>(LoadMemory::kWeight));
    load.dram_addr = u32(address);
    load.run_bytes = u32(chunk.folds() * arch_.array_rows * arch_.array_cols);
    load.runs = 1;
    load.groups = 1;
    return load;
  }

  Execute execute(const Tile& tile, const ActChunk& chunk, const WeightChunk& weights) const {
    const Range rows = g_.is_vector ? tile.conv_y : resident_rows(tile, chunk);
    const Range cols = g_.is_vector ? Range{0, 1} : resident_cols(tile);
    const Window& window = g_.window;
    Execute e;
    e.in_rows = u32(rows.size());
    e.in_cols = u32(cols.size());
    e.act_row_words = u32(g_.is_vector ? chunk.planes.size() : cols.size());
    e.act_plane_words = u32(g_.is_vector ? 1 : rows.size() * cols.size());
    e.act_addr = u32((weights.planes.begin - chunk.planes.begin) * e.act_plane_words);
    e.origin_row =
        static_cast<std::int32_t>(tile.conv_y.begin * window.stride_h + weights.kernel_rows.begin -
                                  window.pad_top - rows.begin);
    e.origin_col =
        static_cast<std::int32_t>(tile.conv_x.begin * window.stride_w + weights.kernel_cols.begin -
                                  window.pad_left - cols.begin);
    e.kernel_h = u32(weights.kernel_rows.size());
    e.kernel_w = u32(weights.kernel_cols.size());
    e.stride_h = u32(window.stride_h);
    e.stride_w = u32(window.stride_w);
    e.planes = u32(weights.planes.size());
    e.out_rows = u32(tile.conv_y.size());
    e.out_cols = u32(tile.conv_x.size());
    e.pad_value = planned_.layer->pad_value;
    return e;
  }

  Load param_load(std::int64_t block) const {
    Load load;
    load.memory = u32(static_cast<int>(LoadMemory::kParameter));
    load.dram_addr = u32(planned_.params_address + block * planned_.param_stride);
    load.run_bytes = u32(arch_.param_block_bytes());
    load.runs = 1;
    load.groups = 1;
    return load;
  }

  Post post(const Tile& tile) const {
    const FusedLayer& layer = *planned_.layer;
    Post p;
    p.in_rows = u32(tile.conv_y.size());
    p.in_cols = u32(tile.conv_x.size());
    p.out_rows = u32(tile.out_y.size());
    p.out_cols = u32(tile.out_x.size());
    p.pool_h = u32(g_.pool.kernel_h);
    p.pool_w = u32(g_.pool.kernel_w);
    p.pool_stride_h = u32(g_.pool.stride_h);
    p.pool_stride_w = u32(g_.pool.stride_w);
    p.origin_row = static_cast<std::int32_t>(tile.out_y.begin * g_.pool.stride_h - g_.pool.pad_top -
                                             tile.conv_y.begin);
    p.origin_col = static_cast<std::int32_t>(tile.out_x.begin * g_.pool.stride_w -
                                             g_.pool.pad_left - tile.conv_x.begin);
    p.rounding = u32(static_cast<int>(layer.rounding));
    p.zero_point = layer.zero_point;
    p.lo = layer.lo;
    p.hi = layer.hi;
    return p;
  }

  // Where B = C a row of the tile is contiguous, and rows of full width are too; else a pixel's
  // array_cols bytes are a run.
  Store store(const Tile& tile, std::int64_t block) const {
    const DramTensor& ofmap = planned_.ofmap;
    const std::int64_t rows = tile.out_y.size();
    const std::int64_t cols = tile.out_x.size();
    const std::int64_t n = g_.is_vector ? tile.out_y.begin : tile.picture;
    const std::int64_t y = g_.is_vector ? 0 : tile.out_y.begin;
    const std::int64_t x = g_.is_vector ? 0 : tile.out_x.begin;
    const std::int64_t row_stride = g_.is_vector ? ofmap.picture_bytes() : ofmap.row_bytes();
    Store s;
    s.dram_addr = u32(ofmap.element_address(n, y, x, block * arch_.array_cols));
    if (ofmap.block == arch_.array_cols) {
      const bool merged = !g_.is_vector && cols == g_.out_cols;
      s.run_bytes = u32((merged ? rows : 1) * cols * ofmap.block);
      s.runs = u32(merged ? 1 : rows);
      s.run_stride = s.runs > 1 ? u32(row_stride) : 0;
      s.groups = 1;
      return s;
    }
    s.run_bytes = u32(arch_.array_cols);
    s.runs = u32(cols);
    s.run_stride = cols > 1 ? u32(ofmap.block) : 0;
    s.groups = u32(rows);
    s.group_stride = rows > 1 ? u32(row_stride) : 0;
    return s;
  }

  const PlannedLayer& planned_;
  const LayerGeometry& g_;
  const ArchConfig& arch_;
  std::int32_t layer_index_;
  bool act_is_resident_;
  std::vector<std::vector<ActChunk>> chunks_;  // of each column block; one entry where all agree
  std::int32_t tile_index_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

StepCounts count_steps(const PlannedLayer& planned, const ArchConfig& arch) {
  return LayerSteps(planned, 0, arch).counts();
}

std::vector<Step> layer_steps(const PlannedLayer& planned, std::int32_t layer_index,
                              const ArchConfig& arch) {
  return LayerSteps(planned, layer_index, arch).build();
}

}  // namespace qsim
