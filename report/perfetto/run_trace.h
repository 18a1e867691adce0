// A run as tracks of a trace: the layers' windows, what each unit is occupied with and what it
// waits for, and counters. A cycle of the accelerator is a nanosecond of the trace.
// docs/reference/output.md says what each track and argument means.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "report/analysis/cycle_accounting.h"
#include "report/perfetto/trace_writer.h"

namespace qsim::report {

// Cycles [first, last).
struct CycleWindow {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

struct TracedRun {
  std::string name;         // the heading: "vgg8-cifar10 on pe16x16, systemc"
  std::string description;  // what the heading explains when it is asked
  const Program& program;
  const CommandTimes& times;
  const RunAccount& account;  // of the two
};

// The cycles in which a command of the program layers first to last (by number) occupies its unit.
CycleWindow window_of_layers(const Program& program, const CommandTimes& times, std::size_t first,
                             std::size_t last);

// Adds a group of tracks. What is partly in `window` is cut at its ends.
void trace_run(const TracedRun& run, const CycleWindow& window, TraceWriter& writer);

}  // namespace qsim::report
