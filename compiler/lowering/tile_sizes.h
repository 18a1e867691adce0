// The sizes of psum tiles that fit a machine, each with what no mapping of that size does better.
// Cycles: the sum of streams (of input_stationary the least one of the numbers of blocks whose
// psums fit an accumulator half), or the fewest bytes over the bus. Bytes: the least over tile sets
// and over what stays, where what stays must fit its scratchpad whole. Commands: a POST and a STORE
// for each psum tile and column block. Events: of one weight chunk for each column block, and of
// input_stationary of all blocks in one EXECUTE; more groups read more activations and change
// nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/layer_sums.h"
#include "compiler/lowering/mapper.h"
#include "compiler/lowering/objective.h"

namespace qsim::compiler {

// The cuts belong to the TileSizes that the size is of.
struct TileSize {
  const AxisCut* rows;
  const AxisCut* cols;
  std::int64_t cycles;  // at least
  double value;         // at least; of the objective
};

class TileSizes {
 public:
  // Both must outlive it.
  TileSizes(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options);
  TileSizes(const TileSizes&) = delete;
  TileSizes& operator=(const TileSizes&) = delete;

  // Those that fit the accumulator and the output scratchpad. The best bounds come first: for
  // Objective::kCycles the fewest cycles, of equal ones the least value; else the other way round.
  std::vector<TileSize> in_order() const;

 private:
  struct Least {
    std::int64_t bytes = 0;  // of DRAM
    double amount = 0;
  };
  Least least(Mapping mapping, const AxisCut& rows, const AxisCut& cols) const;
  std::int64_t least_cycles(Mapping mapping, const AxisCut& rows, const AxisCut& cols,
                            std::int64_t dram_bytes) const;
  std::vector<std::int64_t> blocks_that_fit(Mapping mapping) const;
  std::int64_t tiles(const AxisCut& rows, const AxisCut& cols) const;

  const LayerGeometry& g_;
  const ArchConfig& arch_;
  MapperOptions options_;
  LayerSums sums_;
  ObjectiveAmount amount_;
  std::vector<AxisCut> rows_;
  std::vector<AxisCut> cols_;
};

// With the least of every memory: the smallest psum tile and chunks, one slot each.
Mapping smallest_mapping(const LayerGeometry& geometry);

}  // namespace qsim::compiler
