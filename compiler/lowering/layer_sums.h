// What a mapping moves and works, summed over a layer's tiles in closed form: no command is made.
// DRAM bytes are those that the commands move; cycles are a lower bound. docs/reference/mapper.md
// proves the bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/memory_plan.h"
#include "core/timing_model.h"

namespace qsim {

// One axis of the ofmap cut into parts of `size` positions, the last one smaller.
struct AxisCut {
  std::int64_t size = 1;
  // Psum positions under a part, and how many parts have so many.
  struct Parts {
    std::int64_t psums = 0;
    std::int64_t count = 0;
  };
  std::vector<Parts> parts;
  std::int64_t whole_kernel_inputs = 0;  // ifmap positions of all parts, under the whole kernel
  std::int64_t first_inputs = 0;         // of the first part, under the whole kernel
  std::int64_t last_outputs = 0;         // ofmap positions of the last part
  // Over psum positions of all parts: kernel positions inside the ifmap.
  std::int64_t window_inputs = 0;
};

// Along rows or columns.
enum class Axis : std::uint8_t { kRows, kCols };

AxisCut cut_axis(const LayerGeometry& geometry, Axis axis, std::int64_t size);

// Ifmap positions of all parts under kernel positions `kernel`.
std::int64_t inputs_under(const LayerGeometry& geometry, Axis axis, std::int64_t size,
                          Range kernel);

// Ifmap positions along an axis that the layer reads at all, if only for a tile of padding.
std::int64_t used_inputs(const LayerGeometry& geometry, Axis axis);

// DRAM bytes of a layer under a mapping. Equal to those of its commands.
struct LayerBytes {
  std::int64_t acts = 0;
  std::int64_t weights = 0;
  std::int64_t params = 0;
  std::int64_t writes = 0;
  std::int64_t all() const { return acts + weights + params + writes; }
};

class LayerSums {
 public:
  // Both must outlive it. The functions take the cuts into the mapping's psum tiles.
  LayerSums(const PlannedLayer& planned, const ArchConfig& arch)
      : g_(planned.geometry), arch_(arch) {}

  // Of a valid mapping.
  LayerBytes bytes(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols) const;
  std::int64_t folds() const;  // of all column blocks
  // Cycles in which EXECUTEs occupy the array: the same for all mappings with this cut, dataflow
  // and number of blocks.
  std::int64_t array_cycles(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols) const;
  // The layer's commands, or a few less: a smaller first weight chunk may add some.
  std::int64_t least_commands(const Mapping& mapping) const;
  // At most the cycles of the layer's commands.
  std::int64_t least_cycles(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols,
                            const LayerBytes& bytes) const;

 private:
  // One fold of the psum tiles of a picture, for so many blocks.
  std::int64_t fold_cycles(Dataflow dataflow, std::int64_t blocks, const AxisCut& rows,
                           const AxisCut& cols) const;
  ExecuteTerms terms_of(Dataflow dataflow, std::int64_t psums, std::int64_t blocks) const;
  std::int64_t param_loads(const Mapping& mapping) const;
  // Activation chunks and weight chunks of a reduction over so many planes.
  struct Chunks {
    std::int64_t acts = 0;
    std::int64_t weights = 0;
  };
  Chunks chunks(const Mapping& mapping, std::int64_t planes) const;
  std::int64_t act_bytes_once(const Mapping& mapping, const AxisCut& rows,
                              const AxisCut& cols) const;

  const LayerGeometry& g_;
  const ArchConfig& arch_;
};

}  // namespace qsim
