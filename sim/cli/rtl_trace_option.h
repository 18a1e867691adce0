// `--trace FILE --trace-window A:B` of `qsim run --engine rtl`.
#pragma once

#include <optional>

#include "rtl/rtl_engine/rtl_engine.h"
#include "sim/cli/options.h"

namespace qsim {

// Absent without --trace. Throws Error (exit code 2) for a window that is not two cycles in order,
// and for options that do not go together.
std::optional<RtlTrace> rtl_trace_option(const Options& options);

// For the end of a run that took `cycles`: throws Error (exit code 3) when the window that was
// asked for begins after it, so that the trace holds nothing of the run.
void require_window_in_run(const Options& options, std::uint64_t cycles);

}  // namespace qsim
