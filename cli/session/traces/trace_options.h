// `--trace FILE` of `qsim run`, with its windows: the name's ending says what is recorded.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "cli/terminal/declarations.h"

namespace qsim::cli {

struct TraceOptions {
  std::string trace;         // a file of commands or signals; "" for none
  std::string trace_window;  // "A:B"; "" for the whole run
  std::string trace_layers;  // "FIRST..LAST" or one name; "" for the whole run
};

inline void declare_trace(Declarations& declared, TraceOptions& options) {
  declared.output_file(
      "--trace", options.trace,
      "write when each command ran to FILE.perfetto-trace, for ui.perfetto.dev; with "
      "--engine rtl and any other FILE, the core's signals as FST");
  declared.text("--trace-window", options.trace_window,
                "record cycles A to B - 1 only (default: the whole run)", "A:B");
  declared.text(
      "--trace-layers", options.trace_layers,
      "record only the cycles in which commands of these layers run: one layer, or from the "
      "first to the last",
      "FIRST..LAST");
}

enum class TraceKind : std::uint8_t {
  kCommands,  // *.perfetto-trace, *.pftrace: when each command ran
  kSignals,   // any other name: the RTL's signals, as FST
};

// Cycles [first, last).
struct TraceWindow {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

// Absent without --trace.
std::optional<TraceKind> trace_kind(const TraceOptions& options);

// --trace-window; all cycles without it. Throws Error (exit code 2) for a window that is not two
// cycles in order.
TraceWindow trace_window(const TraceOptions& options);

// Throws Error (exit code 2) for options of traces that do not go together, or with the engine.
void check_trace(const TraceOptions& options, const std::string& engine);

}  // namespace qsim::cli
