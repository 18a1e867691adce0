// `--trace FILE --trace-window A:B` of `qsim run --engine rtl`: which cycles are recorded.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "cli/terminal/options.h"

namespace qsim {

// Cycles [first, last).
struct TraceWindow {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

// Absent without --trace. Throws Error (exit code 2) for a window that is not two cycles in order,
// and for options that do not go together.
std::optional<TraceWindow> trace_window(const Options& options);

}  // namespace qsim
