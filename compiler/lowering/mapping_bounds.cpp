#include "compiler/lowering/mapping_bounds.h"

namespace qsim::compiler {
MappingBounds::MappingBounds(const PlannedLayer& planned, const ArchConfig& arch,
                             const AxisCut& rows, const AxisCut& cols)
    : g_(planned.geometry),
      arch_(arch),
      rows_(rows),
      cols_(cols),
      sums_(planned, arch),
      latency_(arch.dram_latency_cycles),
      post_pipeline_(static_cast<std::int64_t>(post_pipeline_cycles(arch))),
      act_beat_(std::min(arch.bus_bytes, arch.array_rows)),
      weight_beat_(std::min(arch.bus_bytes, arch.weight_word_bytes())),
      output_beat_(std::min(arch.bus_bytes, arch.array_cols)),
      pool_(g_.pool.kernel_h * g_.pool.kernel_w * g_.traits().tiles_of_post),
      last_tile_(g_.param_blocks() > 1 ? 1 : rows.last_outputs * cols.last_outputs),
      folds_(g_.planes_of(g_.column_blocks - 1).size() * g_.plane_folds()) {}

void MappingBounds::remember(const Mapping& m) {
  if (!has_last_ || m.blocks != last_.blocks || m.dataflow != last_.dataflow) {
    array_ = sums_.array_cycles(m, rows_, cols_);
    around_ = sums_.fill_and_drain(m.dataflow);
    first_stream_ = sums_.stream(m.dataflow, rows_.first_psums * cols_.first_psums,
                                 std::min(m.blocks, g_.column_blocks)) *
                    g_.planes_of(0).size() * g_.plane_folds();
  }
  if (!has_last_ || m.blocks != last_.blocks || m.tiles_per_half != last_.tiles_per_half ||
      m.halves_per_pass != last_.halves_per_pass || m.batch_inner != last_.batch_inner) {
    turn_end_ = after_last_turn(m);
  }
  if (rows_of_ != m.act_kernel_rows) {
    rows_of_ = m.act_kernel_rows;
    input_rows_ = sums_.input_rows(m, rows_);
  }
  last_ = m;
  has_last_ = true;
}

MappingSums MappingBounds::sums(const Mapping& m, const ChunkCounts& chunks) {
  remember(m);
  MappingSums sums;
  sums.chunks = chunks;
  sums.bytes = sums_.bytes(m, input_rows_, cols_.whole_kernel_inputs);
  sums.counts = sums_.counts(m, chunks);
  sums.begin = first_loads(m, chunks);
  const std::int64_t end =
      last_tile_ * pool_ + post_pipeline_ + store_cycles(last_tile_) + latency_;
  LayerWork& work = sums.work;
  work.array = array_;
  work.after_array = around_ + turn_end_;
  work.posts = g_.pictures * g_.out_rows * g_.out_cols * pool_ * g_.column_blocks;
  work.after_posts = post_pipeline_ + store_cycles(last_tile_) + latency_;
  work.reads = ceil_div(sums.bytes.acts, act_beat_) + ceil_div(sums.bytes.weights, weight_beat_) +
               ceil_div(sums.bytes.params, arch_.bus_bytes);
  work.after_reads = latency_ + end;
  work.writes = ceil_div(sums.bytes.writes, output_beat_);
  work.after_writes = latency_;
  // Of a chunk: its LOAD, with the latency, and then its EXECUTEs until the last one is done.
  sums.act_uses = sums.counts.act_loads * (latency_ + around_) +
                  ceil_div(sums.bytes.acts, act_beat_) + act_use_cycles(m, chunks);
  sums.weight_uses = sums.counts.weight_loads * (latency_ + around_) +
                     ceil_div(sums.bytes.weights, weight_beat_) + array_;
  sums.after_uses = post_pipeline_ + 2 + latency_;  // a POST and a STORE
  return sums;
}

// Until both the first activation chunk and the first weight chunk are there.
std::int64_t MappingBounds::first_loads(const Mapping& m, const ChunkCounts& chunks) const {
  const std::int64_t planes = std::min(m.act_planes, g_.planes_of(0).size());
  // Rows under the kernel rows of a chunk: no fewer than those under the whole kernel, less the
  // kernel rows that the chunk does not have.
  const std::int64_t rows = std::max<std::int64_t>(
      1, rows_.first_inputs - (g_.window.kernel_h - m.act_kernel_rows) * g_.window.dilation_h);
  const std::int64_t words = rows * cols_.first_inputs * planes;
  const std::int64_t weights = chunks.first_folds * std::min(m.blocks, g_.column_blocks) *
                               arch_.array_rows * arch_.array_cols;
  return latency_ + ceil_div(words * arch_.array_rows, act_beat_) + ceil_div(weights, weight_beat_);
}

std::int64_t MappingBounds::tiles_of_last_set(const Mapping& m) const {
  return (sums_.tiles(m) - 1) % (m.tiles_per_half * m.halves_per_pass) + 1;
}

// The POSTs of the last turn one after the other and then the last STORE, or the first POST and
// then the STOREs one after the other.
std::int64_t MappingBounds::after_last_turn(const Mapping& m) const {
  const std::int64_t tiles = (tiles_of_last_set(m) - 1) % m.tiles_per_half + 1;
  const std::int64_t blocks = (g_.column_blocks - 1) % m.blocks + 1;
  const std::int64_t outputs = blocks * last_outputs(m, tiles);
  return std::max(outputs * pool_ + store_cycles(last_tile_),
                  last_tile_ * pool_ + store_cycles(outputs)) +
         post_pipeline_ + latency_;
}

// Of the last `tiles` psum tiles, for one column block.
std::int64_t MappingBounds::last_outputs(const Mapping& m, std::int64_t tiles) const {
  const std::int64_t tile_cols = ceil_div(g_.out_cols, m.tile_cols);
  const std::int64_t positions = ceil_div(g_.out_rows, m.tile_rows) * tile_cols;
  const std::int64_t times = m.batch_inner ? g_.pictures : 1;
  std::int64_t outputs = 0;
  for (std::int64_t position = positions - 1; tiles > 0;
       position = position == 0 ? positions - 1 : position - 1) {
    const std::int64_t rows =
        position / tile_cols + 1 == positions / tile_cols ? rows_.last_outputs : m.tile_rows;
    const std::int64_t cols = (position + 1) % tile_cols == 0 ? cols_.last_outputs : m.tile_cols;
    outputs += std::min(tiles, times) * rows * cols;
    tiles -= std::min(tiles, times);
  }
  return outputs;
}

std::int64_t MappingBounds::least_cycles(const Mapping& m, const MappingSums& sums) const {
  const LayerWork& work = sums.work;
  // When the first POST can start.
  const std::int64_t first_psums = sums.begin + first_stream_ + around_;
  const std::int64_t first_outputs = g_.param_blocks() > 1 ? 1 : m.tile_rows * m.tile_cols;
  const std::int64_t first_post = first_outputs * pool_ + post_pipeline_;
  return std::max({sums.begin + work.array + work.after_array, work.reads + work.after_reads,
                   first_psums + work.posts + work.after_posts,
                   first_psums + first_post + work.writes + work.after_writes,
                   last_execute_cycles(m, sums), half_cycles(m, sums)});
}

// The last EXECUTE comes after all LOADs of activations and weights.
std::int64_t MappingBounds::last_execute_cycles(const Mapping& m, const MappingSums& sums) const {
  const std::int64_t loads =
      ceil_div(sums.bytes.acts, act_beat_) + ceil_div(sums.bytes.weights, weight_beat_);
  const std::int64_t blocks = (g_.column_blocks - 1) % m.blocks + 1;
  // A last column block with planes of its own may have fewer planes, and a smaller first weight
  // chunk may leave less for the last one of the same activation chunk: at least one fold is left.
  const std::int64_t groups = ceil_div(g_.column_blocks, m.blocks);
  const bool is_first_pass =
      groups == 1 && (m.weights_resident || tiles_of_last_set(m) == sums_.tiles(m));
  const bool is_cut = is_first_pass && sums.chunks.acts == 1 && sums.chunks.more_weights > 0;
  const std::int64_t folds = g_.has_own_planes() || is_cut ? 1 : sums.chunks.last_folds;
  return latency_ + loads +
         folds * sums_.stream(m.dataflow, rows_.last_psums * cols_.last_psums, blocks) +
         sums.work.after_array;
}

// An accumulator half is used by every second turn: its EXECUTEs, then its POSTs. The longer one of
// both halves' chains takes at least the mean.
std::int64_t MappingBounds::half_cycles(const Mapping& m, const MappingSums& sums) const {
  std::int64_t uses = array_;
  if (m.halves_per_pass == 2) {
    // A pass with two turns is used by both, but for the last chunk of one and the first of the
    // other.
    std::int64_t one_turn = 0;
    const std::int64_t last_tiles = tiles_of_last_set(m);
    if (last_tiles <= m.tiles_per_half) {
      std::int64_t psums = 0;
      for (const AxisCut::Parts& y : rows_.parts) {
        for (const AxisCut::Parts& x : cols_.parts) psums = std::max(psums, y.psums * x.psums);
      }
      one_turn = last_tiles * sums_.stream(m.dataflow, psums, m.blocks) * sums_.folds();
    }
    const std::int64_t both = std::max<std::int64_t>(0, array_ - one_turn);
    uses += both - ceil_div(both * sums.chunks.largest_folds, folds_);
  }
  const std::int64_t chain =
      uses + sums.counts.turns * (around_ + post_pipeline_) + sums.work.posts;
  return sums.begin + chain / kAccumulatorHalves + 1 + latency_;
}

// From the first EXECUTE that uses an activation chunk to the last: streams, over all chunks.
std::int64_t MappingBounds::act_use_cycles(const Mapping& m, const ChunkCounts& chunks) const {
  if (g_.has_own_planes()) return array_;
  const std::int64_t tiles = tiles_of_last_set(m);
  if (!m.acts_resident) {
    return array_ + (tiles - 1) * (array_ * chunks.later_folds / folds_);
  }
  if (m.order == LoopOrder::kBlocksOuter) return array_;
  const std::int64_t groups = ceil_div(g_.column_blocks, m.blocks);
  const std::int64_t parts = m.blocks == 1 ? groups : std::max<std::int64_t>(1, groups - 1);
  return std::max(array_, chunks.acts * tiles * (array_ / parts) * (parts - 1));
}

}  // namespace qsim::compiler
