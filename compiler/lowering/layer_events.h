// The events that take energy (core/energy_events.h) of a layer under a mapping, summed over its
// tiles in closed form: no command is made. docs/reference/mapper.md derives the sums.
#pragma once

#include "compiler/lowering/layer_sums.h"
#include "core/energy_events.h"

namespace qsim {

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

}  // namespace qsim
