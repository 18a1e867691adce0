// What a layer costs with a mapping: its cycles and DRAM bytes, exactly as an engine counts them.
// The schedule's commands go through the recurrence of timing/ from the layer's boundary on, one by
// one; they are neither encoded nor kept.
#pragma once

#include "compiler/lowering/layer_cost.h"
#include "compiler/lowering/memory_plan.h"

namespace qsim {

// `mapping` must be valid for the layer (find_fault); `planned.mapping` is not read, and neither
// are addresses of `planned`, so they may still be 0. The time grows with the number of commands.
LayerCost cost_of(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch);

}  // namespace qsim
