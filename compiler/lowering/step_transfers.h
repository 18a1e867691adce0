// What a layer's steps move between DRAM and the scratchpads: which bytes, and in which runs and
// groups. When, and into which slots, is the schedule's business.
#pragma once

#include "compiler/lowering/loop_nest.h"
#include "compiler/lowering/memory_plan.h"
#include "core/machine/program.h"

namespace qsim::compiler {

// Positions of the ofmap.
struct OfmapBox {
  Range pictures, rows, cols;
};

// Of one layer on one array; both must outlive it. Every LOAD and STORE comes with its sizes and
// addresses in DRAM; slots and tokens are still to be filled in.
class StepTransfers {
 public:
  StepTransfers(const PlannedLayer& planned, const ArchConfig& arch)
      : planned_(planned), g_(planned.geometry), arch_(arch) {}

  // The ifmap's rows and columns that the EXECUTEs of a tile read of an activation slot.
  Range resident_rows(const Tile& tile, const Range& kernel_rows) const;
  Range resident_cols(const Tile& tile) const;

  // `planes` and `kernel_rows`: of the activation chunk, within the layer.
  Load act_load(const Tile& tile, const Range& planes, const Range& kernel_rows) const;
  // The weights of a chunk for the pass's column blocks, of which `folds_before` lie before the
  // first block.
  Load weight_load(const WeightChunk& chunk, std::int64_t folds_before, std::int64_t blocks) const;
  // Biases and requantizers of the output channels of column block `block`; PostPart has `number`.
  Load param_load(std::int64_t block, std::int64_t number) const;
  Load table_load() const;
  // The tile's ofmap positions: rows that are vectors are pictures of 1 x 1.
  OfmapBox ofmap_box(const Tile& tile) const;
  Store store(const Tile& tile, std::int64_t block) const;

 private:
  Load vector_load(const Tile& tile, const Range& planes) const;
  Load picture_load(const Tile& tile, const Range& planes, const Range& kernel_rows) const;

  const PlannedLayer& planned_;
  const LayerGeometry& g_;
  const ArchConfig& arch_;
};

}  // namespace qsim::compiler
