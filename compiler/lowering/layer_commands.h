// The commands of one layer, as far as sizes and addresses in DRAM give their fields. When they
// come, and with which slots and tokens, is the schedule's business.
#pragma once

#include "compiler/lowering/loop_nest.h"
#include "compiler/lowering/memory_plan.h"
#include "compiler/lowering/post_parts.h"
#include "compiler/lowering/step_transfers.h"
#include "core/machine/program.h"

namespace qsim::compiler {

// The fields that all POSTs of a layer have in common, but for rounding and levels.
Post common_post(const LayerGeometry& geometry);

// Of one layer on one array; both must outlive it.
class LayerCommands {
 public:
  LayerCommands(const PlannedLayer& planned, const ArchConfig& arch)
      : planned_(planned), g_(planned.geometry), arch_(arch), transfers_(planned, arch) {}

  const StepTransfers& transfers() const { return transfers_; }

  // The EXECUTE of a psum tile under an activation chunk, without the fields of set_weights().
  Execute execute(const Tile& tile, const ActChunk& chunk, Dataflow dataflow,
                  std::int64_t blocks) const;
  // Adds a weight chunk, or one tap of it, to what execute() gave; `act_addr` is where the
  // activation chunk begins.
  void set_weights(Execute& execute, const ActChunk& act, const WeightChunk& weights,
                   std::int64_t act_addr) const;
  // `acc_addr` is from the tile's first psum on. A part that is not the whole tile has its psums
  // where its ofmap positions are.
  Post post(const Tile& tile, const PostPart& part) const;
  // What the command of a psum tile works for; `index` is the tile's number in the layer.
  Origin origin(std::int32_t layer, std::int64_t index, const Tile& tile, std::int64_t first_block,
                std::int64_t blocks) const;

 private:
  const PlannedLayer& planned_;
  const LayerGeometry& g_;
  const ArchConfig& arch_;
  StepTransfers transfers_;
};

}  // namespace qsim::compiler
