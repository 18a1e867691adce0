// How long the array waits at the edges of a layer: before its first fold and after its last one.
// That wait is charged to a semaphore like any other (report/analysis/cycle_accounting.h), but its
// cause is that layers run one after the other.
#pragma once

#include <array>
#include <vector>

#include "report/analysis/cycle_accounting.h"

namespace qsim::report {

// Parts of LayerAccount::stall_cycles, by semaphore.
struct LayerEdges {
  StallCycles start{};  // in the layer's window before its first EXECUTE
  StallCycles drain{};  // in the layer's window after its last EXECUTE
};

// The cycles of a layer in which the array does not stream, each counted once:
//   cycles = stream_cycles + sum of stalls + start_cycles + drain_cycles
struct LayerWaits {
  StallCycles stalls{};            // between the layer's first and last EXECUTE, by semaphore
  std::uint64_t start_cycles = 0;  // before the first
  std::uint64_t drain_cycles = 0;  // after the last, the idle cycles at the end of the run included
};

LayerWaits layer_waits(const LayerAccount& account, const LayerEdges& edges);

LayerEdges sum_of_edges(const std::vector<LayerEdges>& edges);

// One per layer. Throws InternalError when an edge is longer than the stall that it is part of.
std::vector<LayerEdges> layer_edges(const Program& program, const CommandTimes& times,
                                    const RunAccount& account);

}  // namespace qsim::report
