// The events that take energy (core/machine/energy_events.h) of a layer under a mapping, summed
// over its tiles in closed form: no command is made.
// - LOADs: from the bytes, since each byte is written to its memory once.
// - POSTs and STOREs: the same for all mappings, but for a read of the parameters by each psum tile
//   and column block. Each window's psums are read once, in whatever tile they are.
// - EXECUTEs: linear in the folds, the pixels of the tile and the number of tiles, but for two: the
//   first update of a psum overwrites and does not read; and an output_stationary EXECUTE moves
//   each psum to the accumulator once, so that count grows with the weight chunks.
// - Activation reads: of the pixels inside the ifmap, a product of sums along rows and columns.
// One weight chunk for each activation chunk gives a lower bound: more only add updates and reads,
// and each event's energy is above 0. An energy is a count times a number, rounded to nearest, and
// summed in a fixed order, so a bound is not above the energy in floating point either.
#pragma once

#include "compiler/lowering/layer_sums.h"
#include "core/machine/energy_events.h"

namespace qsim::compiler {

class LayerEvents {
 public:
  // Both must outlive it.
  LayerEvents(const PlannedLayer& planned, const ArchConfig& arch);

  // Of a mapping, the cuts into its psum tiles, and its bytes. No event is counted more often than
  // in the layer's commands; all as often, but for what an EXECUTE has once (output_stationary
  // alone has such events): EXECUTEs are counted as if each activation chunk had one.
  EnergyEvents least(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols,
                     const LayerBytes& bytes) const;
  // The events of the layer's commands.
  EnergyEvents exact(const Mapping& mapping, const LayerBytes& bytes) const;

 private:
  // Weight chunks of a reduction: of the first column block and of the last one.
  struct WeightChunks {
    std::int64_t first = 1;
    std::int64_t last = 1;
  };
  EnergyEvents sum(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols,
                   const LayerBytes& bytes, const WeightChunks& chunks) const;
  EnergyEvents executes(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols,
                        const WeightChunks& chunks) const;
  EnergyEvents loads(const LayerBytes& bytes) const;
  MemoryEvents post_parameters(const AxisCut& rows, const AxisCut& cols) const;

  const LayerGeometry& g_;
  const ArchConfig& arch_;
  LayerSums sums_;
  EnergyEvents posts_and_stores_;  // the same for all mappings, but for post_parameters
};

}  // namespace qsim::compiler
