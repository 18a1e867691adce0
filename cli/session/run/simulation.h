// The middle of `run`: the program on the engine that the options name, each ofmap to its sink.
#pragma once

#include "cli/session/engines/engines.h"
#include "cli/session/run/ofmap_sink.h"
#include "cli/session/run/run_options.h"
#include "cli/terminal/context.h"
#include "core/machine/engine.h"
#include "report/run_report.h"

namespace qsim::cli {

// What the options and the context say to an engine. `context` must outlive it.
EngineSettings engine_settings(Context& context, const RunCommandOptions& options);

// Runs `program` on `input` (NHWC, its input's dtype) and writes the trace that the options name.
// Adds to phases.compare the seconds that `sink` takes, and to phases.simulate all others. Throws
// Error also for options that leave the engine nothing to do.
RunResult simulate(const Program& program, const Tensor& input, OfmapSink& sink,
                   report::PhaseSeconds& phases, Context& context,
                   const RunCommandOptions& options);

}  // namespace qsim::cli
