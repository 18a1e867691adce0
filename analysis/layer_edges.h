// How long the array waits at the edges of a layer: before its first fold and after its last one.
// That wait is charged to a semaphore like any other (analysis/cycle_accounting.h), but its cause
// is that layers run one after the other.
#pragma once

#include <array>
#include <vector>

#include "analysis/cycle_accounting.h"

namespace qsim {

// Parts of LayerAccount::stall_cycles.
struct LayerEdges {
  StallCycles start{};  // in the layer's window before its first EXECUTE
  StallCycles drain{};  // in the layer's window after its last EXECUTE
};

// One per layer. Throws InternalError when an edge is longer than the stall that it is part of.
std::vector<LayerEdges> layer_edges(const Program& program,
                                    const std::array<std::vector<CommandTime>, kUnits>& times,
                                    const RunAccount& account);

}  // namespace qsim
