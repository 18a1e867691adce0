#include "compiler/lowering/mapper.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "compiler/lowering/layer_sums.h"
#include "compiler/lowering/mapping_search.h"
#include "compiler/lowering/tile_sizes.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

[[noreturn]] void does_not_fit(const PlannedLayer& planned, const ArchConfig& arch) {
  const MemoryParts parts =
      memory_parts(planned.geometry, smallest_mapping(planned.geometry), arch);
  throw_unsupported(layer_place(planned.layer->name, planned.layer->source) +
                    ": its smallest tile does not fit config '" + arch.name + "': it needs " +
                    std::to_string(parts.act_slot_words) + " words of activations (" +
                    std::to_string(arch.act_words()) + " available), " +
                    std::to_string(parts.psum_words) + " of an accumulator half (" +
                    std::to_string(arch.accumulator_half_words()) +
                    " available) and 1 of an output half (" +
                    std::to_string(arch.output_half_words()) + " available)");
}

}  // namespace

MappedLayer map_layer(const PlannedLayer& planned, const ArchConfig& arch,
                      const MapperOptions& options) {
  const std::optional<MappedLayer> mapped = search_mappings(planned, arch, options);
  if (!mapped) does_not_fit(planned, arch);
  return *mapped;
}

std::vector<std::int64_t> layer_key(const PlannedLayer& planned, const ArchConfig& arch,
                                    const MapperOptions& options) {
  const LayerGeometry& g = planned.geometry;
  std::vector<std::int64_t> key = {
      static_cast<std::int64_t>(fingerprint(arch)),
      static_cast<std::int64_t>(options.objective),
      static_cast<std::int64_t>(options.search),
      static_cast<std::int64_t>(options.dataflow),
      std::bit_cast<std::int64_t>(options.slack),
      static_cast<std::int64_t>(g.kind.index()),
      g.tables,
      g.planes_of(0).size(),
      g.weight_parts,
      g.pictures,
      g.in_rows,
      g.in_cols,
      g.conv_rows,
      g.conv_cols,
      g.out_rows,
      g.out_cols,
      g.planes,
      g.granule_planes,
      g.column_blocks,
  };
  if (const EnergyTable* table = options.energy.get()) {
    const auto add = [&](double number) { key.push_back(std::bit_cast<std::int64_t>(number)); };
    for (const double number :
         {table->mac, table->add.value_or(0), table->hop.value_or(0), table->dram}) {
      add(number);
    }
    for (const SramPoint& point : table->sram) {
      add(point.kib);
      add(point.energy);
      add(point.bits);
    }
  }
  for (const Window& w : {g.window, g.pool}) {
    for (const std::int64_t n :
         {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_left, w.pad_bottom,
          w.pad_right, w.dilation_h, w.dilation_w}) {
      key.push_back(n);
    }
  }
  for (const DramTensor& tensor : {planned.ifmap, planned.ofmap}) {
    const ImageShape& shape = tensor.value.shape;
    for (const std::int64_t n :
         {tensor.block, shape.batch, shape.height, shape.width, shape.channels}) {
      key.push_back(n);
    }
  }
  if (const WindowCounts* counts = g.window_counts()) {
    for (const auto* runs : {&counts->rows, &counts->cols}) {
      key.push_back(std::ssize(*runs));
      for (const CountedRun& run : *runs) key.insert(key.end(), {run.end, run.positions});
    }
  }
  return key;
}

LayerBounds layer_bounds(const PlannedLayer& planned, const ArchConfig& arch) {
  const LayerGeometry& g = planned.geometry;
  Mapping whole;
  whole.tile_rows = g.out_rows;
  whole.tile_cols = g.out_cols;
  whole.act_planes = g.most_act_planes();
  whole.act_kernel_rows = g.window.kernel_h;
  whole.acts_resident = whole.weights_resident = true;
  whole.order = LoopOrder::kBlocksOuter;
  // A stride beyond the kernel leaves positions out, which a tile of them all loads nevertheless.
  AxisCut rows = cut_axis(g, Axis::kRows, g.out_rows);
  AxisCut cols = cut_axis(g, Axis::kCols, g.out_cols);
  rows.whole_kernel_inputs = used_inputs(g, Axis::kRows);
  cols.whole_kernel_inputs = used_inputs(g, Axis::kCols);
  const LayerBytes bytes = LayerSums(planned, arch).bytes(whole, rows, cols);
  LayerBounds bounds;
  const auto beats = [&](std::int64_t n, std::int64_t word_bytes) {
    return ceil_div(n, std::min(arch.bus_bytes, word_bytes));
  };
  bounds.mac_cycles = ceil_div(planned.layer->macs, arch.array_rows * arch.array_cols);
  bounds.read_bus_cycles = beats(bytes.acts, arch.array_rows) +
                           beats(bytes.weights, arch.weight_word_bytes()) +
                           beats(bytes.params, arch.bus_bytes);
  bounds.write_bus_cycles = beats(bytes.writes, arch.array_cols);
  bounds.cycles = std::max({bounds.mac_cycles, bounds.read_bus_cycles, bounds.write_bus_cycles});
  bounds.dram_bytes = bytes.all();
  return bounds;
}

}  // namespace qsim::compiler
