// Where the array's time went: in every cycle, each PE does useful work or has a named cause for
// not doing it. Counted in PE-cycles, so that the parts add up exactly.
#pragma once

#include <string>
#include <vector>

#include "analysis/cycle_accounting.h"
#include "analysis/layer_edges.h"

namespace qsim {

struct ArrayTimePart {
  std::string id;     // "useful", "edge_lanes", "fold_bubbles", "stall_act_ready", ..., "start",
                      // "drain"
  std::string title;  // of a column: "useful", "idle lanes", "act_ready"
  std::string label;  // in words: "waiting for activations"
  std::uint64_t pe_cycles = 0;
};

// Of one layer's window, or of the sum of several windows. `useful` comes first; parts of zero
// PE-cycles are left out, but `useful` is always there. The sum is PEs x cycles: throws
// InternalError when it is not.
std::vector<ArrayTimePart> array_time(const Program& program, const LayerAccount& account,
                                      const LayerEdges& edges);

// The windows of all layers as one.
LayerAccount sum_of_layers(const RunAccount& account);
LayerEdges sum_of_edges(const std::vector<LayerEdges>& edges);

// What a stall on this semaphore means: "act_ready" -> "waiting for activations".
std::string stall_label(const std::string& semaphore);

// Percentages of one decimal place that add up to exactly 100.0, in tenths: the first part rounded
// (so that it reads as the utilization), the others by largest remainder.
std::vector<std::int64_t> tenths_of_percent(const std::vector<ArrayTimePart>& parts);

}  // namespace qsim
