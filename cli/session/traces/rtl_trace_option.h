// The trace that `--trace FILE --trace-window A:B` asks the RTL engine for, and checks of it
// afterwards.
#pragma once

#include <filesystem>
#include <optional>

#include "cli/session/traces/trace_options.h"
#include "rtl/engine/rtl_engine.h"

namespace qsim::cli {

// Absent without a --trace of signals. Throws as trace_window() does.
std::optional<rtl::RtlTrace> rtl_trace_option(const TraceOptions& options);

// For the end of a run that took `cycles`: throws Error (exit code 3) when the window that was
// asked for begins after it, so that the trace holds nothing of the run.
void require_window_in_run(const TraceOptions& options, std::uint64_t cycles);

// The FST writer does not say when the disk was full. Throws Error naming `target` (exit code 3)
// unless the closed file at `path` is whole: its blocks fill it to the last byte, and those that
// are written at the end are among them.
void require_whole_fst(const std::filesystem::path& path, const std::filesystem::path& target);

}  // namespace qsim::cli
