// Counters of a run: DRAM traffic by intervals of equal length, and how full the on-chip memories
// are.
#pragma once

#include "report/perfetto/run_trace.h"

namespace qsim {

// The bytes that LOADs read, and those that STOREs write. The bytes of a command are spread evenly
// over the cycles from its start to its free, in whole bytes. An interval is a power of two of
// cycles, at least 64, and at most 2,000 of them cover the window.
void trace_dram_bytes(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                      TraceWriter& writer);

// The bytes in use of each on-chip memory (analysis/resident_bytes.h).
void trace_resident_bytes(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                          TraceWriter& writer);

}  // namespace qsim
