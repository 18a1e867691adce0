// Where the array's time went: in every cycle, each PE does useful work or has a named cause for
// not doing it. Counted in PE-cycles, so that the parts add up exactly.
#pragma once

#include <string>
#include <vector>

#include "report/analysis/cycle_accounting.h"

namespace qsim::report {

struct ArrayTimePart {
  std::string id;     // "useful", "edge_lanes", "fold_bubbles", "wait_weights", ...
  std::string label;  // in words: "waiting while weights are loaded"
  std::uint64_t pe_cycles = 0;
};

// What the PE-cycles of one layer's window, or of several windows together, are spent on. `useful`
// comes first and is always there; other parts of zero PE-cycles are left out. A wait has the name
// of what the critical path is at in these cycles. The sum is PEs x cycles: throws InternalError
// when it is not.
std::vector<ArrayTimePart> array_time(const Program& program, const LayerAccount& account);

// Percentages of one decimal place that add up to exactly 100.0, in tenths: the first part rounded
// (so that it reads as the utilization), the others by largest remainder.
std::vector<std::int64_t> tenths_of_percent(const std::vector<ArrayTimePart>& parts);

}  // namespace qsim::report
