// The sizes of psum tiles that fit a machine, each with what no mapping of that size does better.
// docs/reference/mapper.md proves the bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/layer_sums.h"
#include "compiler/lowering/mapper.h"

namespace qsim {

// The cuts belong to the TileSizes that the size is of.
struct TileSize {
  const AxisCut* rows;
  const AxisCut* cols;
  std::int64_t cycles;  // at least
  std::int64_t bytes;   // at least; of DRAM and of commands
};

class TileSizes {
 public:
  // Both must outlive it.
  TileSizes(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options);
  TileSizes(const TileSizes&) = delete;
  TileSizes& operator=(const TileSizes&) = delete;

  // Those that fit the accumulator and the output scratchpad. The best bounds come first, by the
  // objective: the fewest cycles, of equal ones the fewest bytes, or the other way round.
  std::vector<TileSize> in_order() const;

 private:
  std::int64_t least_bytes(Mapping mapping, const AxisCut& rows, const AxisCut& cols) const;
  std::int64_t least_cycles(Mapping mapping, const AxisCut& rows, const AxisCut& cols,
                            std::int64_t dram_bytes) const;
  std::int64_t tiles(const AxisCut& rows, const AxisCut& cols) const;

  const LayerGeometry& g_;
  const ArchConfig& arch_;
  MapperOptions options_;
  LayerSums sums_;
  std::vector<AxisCut> rows_;
  std::vector<AxisCut> cols_;
};

// With the least of every memory: the smallest psum tile and chunks, one slot each.
Mapping smallest_mapping(const LayerGeometry& geometry);

}  // namespace qsim
