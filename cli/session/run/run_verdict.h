// The end of `run`, after the engine: whether the ofmaps agree, what is kept and printed, and the
// exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/session/run/network.h"
#include "cli/session/run/ofmap_sink.h"
#include "cli/session/run/run_options.h"
#include "cli/terminal/context.h"
#include "report/run_report.h"

namespace qsim::cli {

struct FinishedRun {
  const Network& network;              // without its graph, which the compiler has
  const Graph& graph;                  // read for --dump-layers only
  const OfmapSink& sink;               // every ofmap has been handed over
  std::string golden;                  // "cpu" or "cuda": what `sink` compared with
  const std::vector<Tensor>& tensors;  // for --dump-layers, as `sink` has left them
  const Program& program;              // for --report
  const CommandTimes& times;           // the same
};

// Adds `verify` and `top` to `report`, which has everything else, and writes what the options name:
// --out, --dump-layers, --report, --json, the tables. kMismatch when a value of an ofmap differs,
// kOk otherwise. Throws Error when something cannot be written, and for a trace window after the
// run.
ExitCode finish_run(Context& context, const RunCommandOptions& options, report::RunReport& report,
                    const FinishedRun& run);

// The same for a report that has everything, of networks without one output: writes --out, --json
// and the tables.
ExitCode finish_report(Context& context, const RunCommandOptions& options,
                       const report::RunReport& report);
// The same with the outputs of a network with a host.
ExitCode finish_hosted_run(Context& context, const RunCommandOptions& options,
                           const report::RunReport& report, const std::vector<Tensor>& outputs);

}  // namespace qsim::cli
