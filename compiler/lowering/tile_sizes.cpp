#include "compiler/lowering/tile_sizes.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "compiler/lowering/mapping_space.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {

TileSizes::TileSizes(const PlannedLayer& planned, const ArchConfig& arch,
                     const MapperOptions& options)
    : g_(planned.geometry),
      arch_(arch),
      options_(options),
      sums_(planned, arch),
      amount_(planned, arch, options_) {
  for (const std::int64_t size : equal_cuts(g_.out_rows)) {
    rows_.push_back(cut_axis(g_, Axis::kRows, size));
  }
  for (const std::int64_t size : equal_cuts(g_.out_cols)) {
    cols_.push_back(cut_axis(g_, Axis::kCols, size));
  }
}

std::vector<TileSize> TileSizes::in_order() const {
  std::vector<TileSize> sizes;
  Mapping mapping = smallest_mapping(g_);
  mapping.dataflow = options_.dataflow;
  for (const AxisCut& cols : cols_) {
    for (const AxisCut& rows : rows_) {
      mapping.tile_rows = rows.size;
      mapping.tile_cols = cols.size;
      if (find_fault(g_, mapping, arch_)) continue;
      const Least least_of = least(mapping, rows, cols);
      const std::int64_t cycles = least_cycles(mapping, rows, cols, least_of.bytes);
      sizes.push_back(
          {&rows, &cols, cycles, value_of({cycles, least_of.amount}, options_.objective)});
    }
  }
  const auto key = [this](const TileSize& t) {
    const auto cycles = static_cast<double>(t.cycles);
    return options_.objective == Objective::kCycles ? std::tuple(cycles, t.value)
                                                    : std::tuple(t.value, cycles);
  };
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const TileSize& a, const TileSize& b) { return key(a) < key(b); });
  return sizes;
}

std::int64_t TileSizes::tiles(const AxisCut& rows, const AxisCut& cols) const {
  return g_.pictures * ceil_div(g_.out_rows, rows.size) * ceil_div(g_.out_cols, cols.size);
}

// Of any mapping with these psum tiles. What stays must fit its scratchpad whole; what does not
// is moved again for each tile set or each block group.
TileSizes::Least TileSizes::least(Mapping mapping, const AxisCut& rows, const AxisCut& cols) const {
  mapping.act_planes = g_.most_act_planes();
  mapping.act_kernel_rows = g_.window.kernel_h;
  const std::int64_t all_tiles = tiles(rows, cols);
  const MemoryParts parts = memory_parts(g_, mapping, arch_);
  const std::int64_t most = arch_.accumulator_half_words() / parts.psum_words;
  const std::int64_t layer_words = sums_.weight_folds() * arch_.fold_words();
  // An EXECUTE of several blocks moves activations once for all of them.
  const std::int64_t most_blocks = blocks_that_fit(mapping).back();
  Mapping events = mapping;  // of the fewest events: one EXECUTE takes as much as can be
  if (most_blocks > 1) events.blocks = g_.column_blocks;
  // Each psum tile has a POST and a STORE for each column block.
  const std::int64_t commands = 2 * all_tiles * g_.column_blocks;
  Least least = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<double>::infinity()};
  const std::int64_t input_rows = sums_.least_input_rows(rows);
  const bool apart = runs_tap_by_tap(g_.window);  // then chunks need not hold what is between taps
  const auto take = [&](LoopOrder order, bool acts, bool weights) {
    mapping.order = order;
    mapping.acts_resident = acts;
    mapping.weights_resident = weights;
    LayerBytes bytes = sums_.bytes(mapping, input_rows, cols.whole_kernel_inputs);
    Mapping of_blocks = mapping;
    of_blocks.blocks = most_blocks;
    bytes.acts =
        std::min(bytes.acts, sums_.bytes(of_blocks, input_rows, cols.whole_kernel_inputs).acts);
    least.bytes = std::min(least.bytes, bytes.all());
    least.amount = std::min(least.amount, amount_.least(events, rows, cols, bytes, commands));
  };
  for (std::int64_t m = 1; m <= std::min(most, all_tiles); m *= 2) {
    for (std::int64_t h = 1; h <= kAccumulatorHalves && m * h <= all_tiles; ++h) {
      mapping.tiles_per_half = m;
      mapping.halves_per_pass = h;
      const bool acts = apart || m * h * parts.act_slot_words <= arch_.act_words();
      take(LoopOrder::kTilesOuter, acts, layer_words <= arch_.weight_words());
    }
  }
  if (layer_words / g_.column_blocks <= arch_.weight_words()) {
    take(LoopOrder::kBlocksOuter, apart || all_tiles * parts.act_slot_words <= arch_.act_words(),
         true);
  }
  return least;
}

// The fewest first. Their psums of one tile fit an accumulator half.
std::vector<std::int64_t> TileSizes::blocks_that_fit(Mapping mapping) const {
  std::vector<std::int64_t> fitting;
  for (const std::int64_t blocks : block_counts(g_, mapping.dataflow)) {
    mapping.blocks = blocks;
    const bool fits = memory_parts(g_, mapping, arch_).psum_words <= arch_.accumulator_half_words();
    if (fits) fitting.push_back(blocks);
  }
  return fitting;
}

std::int64_t TileSizes::least_cycles(Mapping mapping, const AxisCut& rows, const AxisCut& cols,
                                     std::int64_t dram_bytes) const {
  std::int64_t array = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t blocks : blocks_that_fit(mapping)) {
    mapping.blocks = blocks;
    array = std::min(array, sums_.array_cycles(mapping, rows, cols));
  }
  const std::int64_t writes =
      g_.pictures * g_.out_rows * g_.out_cols * g_.column_blocks * arch_.array_cols;
  return std::max({array, ceil_div(dram_bytes - writes, arch_.bus_bytes),
                   ceil_div(writes, std::min(arch_.bus_bytes, arch_.array_cols))});
}

Mapping smallest_mapping(const LayerGeometry& geometry) {
  Mapping mapping;
  mapping.act_planes = geometry.granule_planes;
  mapping.act_slots = mapping.weight_slots = 1;
  return mapping;
}

}  // namespace qsim::compiler
