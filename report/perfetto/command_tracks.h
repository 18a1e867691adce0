// The tracks of the four units: what each is occupied with, and what it waits for in between.
#pragma once

#include <optional>

#include "report/analysis/channel_waits.h"
#include "report/perfetto/run_trace.h"

namespace qsim::report {

// What of `cycles` is in `window`; nothing where no cycle is.
std::optional<CycleInterval> part_in(const CycleWindow& window, CycleInterval cycles);

// A slice for each command from its start to its free, with the command's fields, and one for each
// wait before it. A flow arrow leads from the command that ended a wait to the one that waited, if
// both have a slice in `window`.
void trace_commands(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                    TraceWriter& writer);

}  // namespace qsim::report
