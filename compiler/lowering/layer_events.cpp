#include "compiler/lowering/layer_events.h"

#include <algorithm>

#include "compiler/lowering/command_field.h"
#include "compiler/lowering/layer_commands.h"
#include "compiler/lowering/loop_nest.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

std::uint64_t count(std::int64_t n) { return static_cast<std::uint64_t>(n); }

MemoryEvents times(const MemoryEvents& memory, std::uint64_t n) {
  return {memory.reads * n, memory.writes * n, memory.read_bits * n, memory.write_bits * n};
}

EnergyEvents times(EnergyEvents events, std::uint64_t n) {
  for (std::uint64_t* number :
       {&events.useful_macs, &events.pe_macs, &events.activation_hop_bits, &events.psum_hop_bits,
        &events.weight_hop_bits, &events.adds, &events.dram_read_bits, &events.dram_write_bits}) {
    *number *= n;
  }
  for (MemoryEvents* memory : {&events.activation, &events.weight, &events.accumulator,
                               &events.output, &events.parameter}) {
    *memory = times(*memory, n);
  }
  return events;
}

// An EXECUTE over `folds` folds of a psum tile, whose pixels are all inside the ifmap.
Execute execute_over(Dataflow dataflow, std::int64_t folds, std::int64_t blocks, std::int64_t rows,
                     std::int64_t cols, bool accumulates) {
  Execute e;
  e.dataflow = static_cast<std::uint32_t>(dataflow);
  e.planes = command_field(folds);
  e.kernel_h = e.kernel_w = 1;
  e.blocks = command_field(blocks);
  e.out_rows = e.in_rows = command_field(rows);
  e.out_cols = e.in_cols = command_field(cols);
  e.stride_h = e.stride_w = 1;
  e.accumulate = accumulates ? 1 : 0;
  return e;
}

// One POST of a picture's whole ofmap; tiles count each window once, too. Each tile's POST reads
// the parameters (post_parameters).
Post whole_post(const LayerGeometry& g) {
  Post p = common_post(g);
  p.in_rows = command_field(g.conv_rows);
  p.in_cols = command_field(g.conv_cols);
  p.out_rows = command_field(g.out_rows);
  p.out_cols = command_field(g.out_cols);
  p.origin_row = -static_cast<std::int32_t>(g.pool.pad_top);
  p.origin_col = -static_cast<std::int32_t>(g.pool.pad_left);
  return p;
}

MemoryEvents words(std::int64_t bytes, std::int64_t word_bytes, bool is_read) {
  const std::uint64_t number = count(bytes / word_bytes);
  const std::uint64_t bits = 8 * count(bytes);
  return is_read ? MemoryEvents{number, 0, bits, 0} : MemoryEvents{0, number, 0, bits};
}

// Block groups that are alike: how many, and the folds and weight chunks of each one's reduction.
struct AlikeGroups {
  std::int64_t number = 0;
  std::int64_t blocks = 1;
  std::int64_t planes = 0;
  std::int64_t weight_chunks = 0;
};

}  // namespace

LayerEvents::LayerEvents(const PlannedLayer& planned, const ArchConfig& arch)
    : g_(planned.geometry), arch_(arch), sums_(planned, arch) {
  posts_and_stores_ = times(events_of(whole_post(g_), arch), count(g_.pictures * g_.column_blocks));
  const std::int64_t writes =
      g_.pictures * g_.out_rows * g_.out_cols * g_.column_blocks * arch.array_cols;
  posts_and_stores_.output += words(writes, arch.array_cols, true);
  posts_and_stores_.dram_write_bits = 8 * count(writes);
  posts_and_stores_.useful_macs = count(planned.layer->macs);
}

EnergyEvents LayerEvents::loads(const LayerBytes& bytes) const {
  EnergyEvents events;
  events.activation = words(bytes.acts, arch_.array_rows, false);
  events.weight = words(bytes.weights, arch_.weight_word_bytes(), false);
  const std::int64_t params = arch_.param_block_bytes();
  const std::int64_t each = params + g_.tables * kTableBytes;
  events.parameter = words(bytes.params / each * params, params, false);
  const std::int64_t copies = g_.tables * arch_.array_cols;  // each column has one
  events.parameter += words(bytes.params / each * copies * kTableBytes, kTableBytes, false);
  events.dram_read_bits = 8 * count(bytes.acts + bytes.weights + bytes.params);
  return events;
}

// EXECUTE's counts are linear in the folds, but for what each command has once: the first one of a
// psum tile and block overwrites, the others add (`accumulate`), and with output_stationary each
// moves the psums once. So a reduction of n chunks is one EXECUTE over all folds, and n - 1 over
// none. Pixels inside the ifmap are a product of two sums, along rows and along columns.
EnergyEvents LayerEvents::executes(const Mapping& m, const AxisCut& rows, const AxisCut& cols,
                                   const WeightChunks& chunks) const {
  const std::int64_t window = g_.plane_folds();
  const std::int64_t last = g_.column_blocks - 1;
  const std::int64_t full = last / m.blocks;  // groups before the last one
  // The last one may have fewer blocks, or fewer planes.
  const AlikeGroups kinds[] = {
      {full, m.blocks, g_.planes_of(0).size(), chunks.first},
      {1, g_.column_blocks - full * m.blocks, g_.planes_of(last).size(), chunks.last}};
  EnergyEvents events;
  std::uint64_t planes_read = 0;
  for (const AlikeGroups& groups : kinds) {
    if (groups.number == 0) continue;
    EnergyEvents tiles;
    for (const AxisCut::Parts& y : rows.parts) {
      for (const AxisCut::Parts& x : cols.parts) {
        const auto tile = [&](std::int64_t folds, bool accumulates) {
          return events_of(
              execute_over(m.dataflow, folds, groups.blocks, y.psums, x.psums, accumulates), arch_);
        };
        const std::int64_t overwrites = g_.traits().tiles_of_post;
        EnergyEvents one =
            times(tile(groups.planes * window / overwrites, false), count(overwrites));
        one += times(tile(0, true), count(groups.weight_chunks - overwrites));
        tiles += times(one, count(y.count * x.count));
      }
    }
    events += times(tiles, count(groups.number * g_.pictures));
    planes_read += count(groups.number * groups.planes * g_.weight_parts);
  }
  const std::uint64_t pixels = count(rows.window_inputs * cols.window_inputs * g_.pictures);
  events.activation = words(static_cast<std::int64_t>(planes_read * pixels) * arch_.array_rows,
                            arch_.array_rows, true);
  return events;
}

// What the POSTs of all tiles but the first of each picture and column block read.
MemoryEvents LayerEvents::post_parameters(const AxisCut& rows, const AxisCut& cols) const {
  const auto tiles = [](const AxisCut& axis) {
    std::int64_t sum = 0;
    for (const AxisCut::Parts& parts : axis.parts) sum += parts.count;
    return sum;
  };
  const std::int64_t more = tiles(rows) * tiles(cols) - 1;
  const std::int64_t slot = arch_.param_block_bytes();
  return words(more * g_.pictures * g_.column_blocks * slot, slot, true);
}

EnergyEvents LayerEvents::sum(const Mapping& m, const AxisCut& rows, const AxisCut& cols,
                              const LayerBytes& bytes, const WeightChunks& chunks) const {
  EnergyEvents events = posts_and_stores_;
  events.parameter += post_parameters(rows, cols);
  events += executes(m, rows, cols, chunks);
  events += loads(bytes);
  return events;
}

EnergyEvents LayerEvents::least(const Mapping& m, const AxisCut& rows, const AxisCut& cols,
                                const LayerBytes& bytes) const {
  const std::int64_t act_rows = ceil_div(g_.window.kernel_h, m.act_kernel_rows);
  const auto chunks = [&](std::int64_t block) {
    return act_rows * ceil_div(g_.planes_of(block).size(), m.act_planes);
  };
  return sum(m, rows, cols, bytes, {chunks(0), chunks(g_.column_blocks - 1)});
}

EnergyEvents LayerEvents::exact(const Mapping& m, const LayerBytes& bytes) const {
  const LoopNest nest(g_, m);
  const std::int64_t chunks = nest.executes_of_group(0);
  const std::int64_t last = nest.executes_of_group(nest.groups() - 1);
  EnergyEvents events = sum(m, cut_axis(g_, Axis::kRows, m.tile_rows),
                            cut_axis(g_, Axis::kCols, m.tile_cols), bytes, {chunks, last});
  // A smaller first weight chunk adds EXECUTEs to the layer's first pass, or to its first group.
  const std::int64_t more = nest.first_executes_of_group(0) - chunks;
  if (more == 0 || m.dataflow != Dataflow::kOutputStationary) return events;
  const std::int64_t set = std::min(nest.tiles(), m.tiles_per_half * m.halves_per_pass);
  for (std::int64_t i = 0; i < (m.weights_resident ? nest.tiles() : set); ++i) {
    const Tile tile = nest.tile(i);
    const Execute none =
        execute_over(m.dataflow, 0, 1, tile.conv_y.size(), tile.conv_x.size(), true);
    events += times(events_of(none, arch_), count(more));
  }
  return events;
}

}  // namespace qsim::compiler
