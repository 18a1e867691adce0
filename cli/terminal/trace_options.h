// `--trace FILE` of `qsim run`, with its windows: the name's ending says what is recorded.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "cli/terminal/options.h"

namespace qsim {

enum class TraceKind : std::uint8_t {
  kCommands,  // *.perfetto-trace, *.pftrace: when each command ran
              // (docs/reference/output.md)
  kSignals,   // any other name: the RTL's signals, as FST
};

// Cycles [first, last).
struct TraceWindow {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

// Absent without --trace.
std::optional<TraceKind> trace_kind(const Options& options);

// --trace-window; all cycles without it. Throws Error (exit code 2) for a window that is not two
// cycles in order.
TraceWindow trace_window(const Options& options);

// Throws Error (exit code 2) for options of traces that do not go together, or with the engine.
void check_trace_options(const Options& options);

}  // namespace qsim
