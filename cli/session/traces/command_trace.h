// The trace of commands that `run --trace FILE.perfetto-trace` writes, from the times of any
// engine.
#pragma once

#include <optional>
#include <string>

#include "cli/session/traces/trace_options.h"
#include "cli/terminal/context.h"
#include "core/machine/engine.h"
#include "core/network/graph.h"

namespace qsim::cli {

// Layers of a graph, by number, both included.
struct LayerRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

// What --trace-layers names: NAME or FIRST..LAST; absent without it. Throws Error (exit code 3) for
// a name that no layer of `graph` has, and for layers in the wrong order.
std::optional<LayerRange> trace_layers(const TraceOptions& options, const std::string& model,
                                       const Graph& graph);

// Writes the trace, if the options ask for one. `model` is the name of the network for people;
// `layers` are those of trace_layers().
void write_command_trace(Context& context, const TraceOptions& options, const std::string& engine,
                         const std::string& model, const Program& program, const RunResult& result,
                         const std::optional<LayerRange>& layers);

}  // namespace qsim::cli
