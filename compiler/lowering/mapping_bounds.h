// Sums and lower bounds of a mapping, in closed form: its bytes and commands exactly, its cycles
// from below: at least each of these. L is the latency of DRAM, "around" an EXECUTE's fill and
// drain, a turn the use of one accumulator half.
// - Array. EXECUTEs occupy it one after another. Before the first one, the first activation chunk
//   and the first weight chunk are loaded through one bus, and L passes. After the last one come
//   around, the POSTs of its turn one after the other, the last STORE and L; or the turn's first
//   POST, its STOREs one after the other and L. None of these overlap. (Where a psum tile has
//   several POSTs, the first and the last are of one value at least.)
// - Read bus. Each operand's bytes / bytes of a beat, L, the last POST, the last STORE and L: some
//   POST waits for the last LOAD, and the last POST does not start before it.
// - Last EXECUTE. It comes after all LOADs of activations and weights: their beats, L, its stream
//   over the last weight chunk of the last psum tile, and what follows the array.
// - POST and write bus. No POST starts before the first psum tile is complete: first loads, its
//   stream, around. Then all POSTs, the last STORE and L; or the first POST, all STOREs and L.
// - Accumulator halves. A half takes every second turn. A turn keeps it from its first EXECUTE to
//   the end of its POSTs, and the half's next turn begins after that; so the longer of both sums
//   takes at least the mean. A turn that has its pass alone uses all the pass's stream. Of two
//   turns in one pass, the first does not use the second's steps of the last weight chunk, nor the
//   second the first's of the first weight chunk, together at most one chunk. So two turns use the
//   pass's stream twice, less the share of the largest weight chunk in a column block's folds.
// - Slots. With S activation slots, chunk n is loaded to the slot of chunk n - S after its last use
//   is done. From the start of a LOAD to the end of its chunk's last use pass its beats, L, the
//   streams from its first use to its last, and around. So the slot with the longest sum takes at
//   least the sum over all chunks / S. The streams of all uses are at least those of all EXECUTEs.
//   Where an activation chunk has several weight chunks and a set has T psum tiles, the steps of
//   the other T - 1 tiles lie between its uses: over all chunks (T - 1) times the folds outside of
//   the largest weight chunk. Where activations stay for all block groups, a chunk is in use for
//   all of the set's passes less one. Weight slots alike: a chunk's uses are T EXECUTEs in a row.
#pragma once

#include <algorithm>

#include "compiler/lowering/layer_sums.h"
#include "compiler/lowering/layer_timing.h"

namespace qsim::compiler {

struct MappingSums {
  LayerBytes bytes;
  ChunkCounts chunks;
  CommandCounts counts;
  LayerWork work;
  std::int64_t begin = 0;  // before the first EXECUTE starts, at least
  // Each chunk occupies a slot from its LOAD to its last use: cycles of all chunks together, and
  // those after the last one.
  std::int64_t act_uses = 0;
  std::int64_t weight_uses = 0;
  std::int64_t after_uses = 0;

  // At most the cycles of a mapping with so many slots: one of them is occupied for the mean.
  std::int64_t least_slot_cycles(const Mapping& mapping) const {
    return std::max(act_uses / mapping.act_slots, weight_uses / mapping.weight_slots) + after_uses;
  }
};

// Of the mappings of a layer with psum tiles of one size. Remembers what mappings that come one
// after the other have in common.
class MappingBounds {
 public:
  // All must outlive it.
  MappingBounds(const PlannedLayer& planned, const ArchConfig& arch, const AxisCut& rows,
                const AxisCut& cols);

  // Of a mapping that may have any slots and any order of LOADs.
  MappingSums sums(const Mapping& mapping, const ChunkCounts& chunks);

  // At most the cycles of the mapping, whatever its slots and the order of its LOADs: the largest
  // of the bounds of array, POST, buses and accumulator halves.
  std::int64_t least_cycles(const Mapping& mapping, const MappingSums& sums) const;

 private:
  void remember(const Mapping& mapping);
  std::int64_t first_loads(const Mapping& mapping, const ChunkCounts& chunks) const;
  std::int64_t after_last_turn(const Mapping& mapping) const;
  std::int64_t last_outputs(const Mapping& mapping, std::int64_t tiles) const;
  std::int64_t last_execute_cycles(const Mapping& mapping, const MappingSums& sums) const;
  std::int64_t half_cycles(const Mapping& mapping, const MappingSums& sums) const;
  std::int64_t act_use_cycles(const Mapping& mapping, const ChunkCounts& chunks) const;
  std::int64_t tiles_of_last_set(const Mapping& mapping) const;
  std::int64_t store_cycles(std::int64_t outputs) const {
    return ceil_div(outputs * arch_.array_cols, output_beat_);
  }

  const LayerGeometry& g_;
  const ArchConfig& arch_;
  const AxisCut& rows_;
  const AxisCut& cols_;
  LayerSums sums_;
  std::int64_t latency_;
  std::int64_t post_pipeline_;
  std::int64_t act_beat_;  // bytes
  std::int64_t weight_beat_;
  std::int64_t output_beat_;
  std::int64_t pool_;  // psums that a POST reads for an output
  // Outputs of the last POST: of the last psum tile, which is the smallest. Where a tile has
  // several POSTs, at least 1.
  std::int64_t last_tile_;
  std::int64_t folds_;  // of a column block; the fewest
  // Of `last_`, and of all mappings that have the same fields before the chunks.
  Mapping last_;
  bool has_last_ = false;
  std::int64_t array_ = 0;         // streams of all EXECUTEs
  std::int64_t around_ = 0;        // fill and drain
  std::int64_t first_stream_ = 0;  // of the first psum tile, in the first block group
  std::int64_t turn_end_ = 0;      // after_last_turn()
  std::int64_t rows_of_ = 0;       // act_kernel_rows of input_rows_
  std::int64_t input_rows_ = 0;
};

}  // namespace qsim::compiler
