// What a mapping moves and works, summed over a layer's tiles in closed form: no command is made.
// Bytes, commands and streams are those of the commands.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/chunk_counts.h"
#include "compiler/lowering/loop_nest.h"
#include "compiler/lowering/memory_plan.h"
#include "core/machine/timing_model.h"

namespace qsim::compiler {

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
  std::int64_t first_psums = 0;          // of the first part; and of the last
  std::int64_t last_psums = 0;
  std::int64_t last_outputs = 0;  // ofmap positions of the last part
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

  // Of a valid mapping. `input_rows` and `input_cols` are the sums of input_rows() and of the cut.
  LayerBytes bytes(const Mapping& mapping, std::int64_t input_rows, std::int64_t input_cols) const;
  LayerBytes bytes(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols) const {
    return bytes(mapping, input_rows(mapping, rows), cols.whole_kernel_inputs);
  }
  // Ifmap rows that activation chunks of all psum tiles load, over all parts of the kernel's rows.
  std::int64_t input_rows(const Mapping& mapping, const AxisCut& rows) const;
  // The fewest of input_rows() of mappings with this cut. Where taps are apart, chunks of fewer
  // kernel rows can leave out the rows between them.
  std::int64_t least_input_rows(const AxisCut& rows) const;
  // Of all column blocks: folds, and those that have weights of their own.
  std::int64_t folds() const { return planes() * g_.plane_folds(); }
  std::int64_t weight_folds() const { return planes() * g_.plane_weight_folds(); }
  // Cycles in which EXECUTEs occupy the array: the same for all mappings with this cut, dataflow
  // and number of blocks.
  std::int64_t array_cycles(const Mapping& mapping, const AxisCut& rows, const AxisCut& cols) const;
  // The layer's commands. `chunks` is count_chunks() of the mapping for column block 0.
  CommandCounts counts(const Mapping& mapping, const ChunkCounts& chunks) const;
  ChunkCounts chunks(const Mapping& mapping) const {
    return count_chunks(g_, g_.planes_of(0).size(), mapping);
  }
  std::int64_t tiles(const Mapping& mapping) const;
  // Cycles in which an EXECUTE of one fold, of so many psums and blocks, occupies the array; and
  // those before and after its stream, which depend on the dataflow alone.
  std::int64_t stream(Dataflow dataflow, std::int64_t psums, std::int64_t blocks) const;
  std::int64_t fill_and_drain(Dataflow dataflow) const;

 private:
  std::int64_t planes() const;  // of all column blocks
  // Whose weights LOADs bring where they do not stay.
  std::int64_t loaded_folds(const Mapping& mapping) const;
  // One fold of the psum tiles of a picture, for so many blocks.
  std::int64_t fold_cycles(Dataflow dataflow, std::int64_t blocks, const AxisCut& rows,
                           const AxisCut& cols) const;
  ExecuteTerms terms_of(Dataflow dataflow, std::int64_t psums, std::int64_t blocks) const;
  std::int64_t param_loads(const Mapping& mapping) const;
  std::int64_t act_granules(const Mapping& mapping) const;

  const LayerGeometry& g_;
  const ArchConfig& arch_;
};

}  // namespace qsim::compiler
