// The folders that `run` writes: the one of --out, and the layer trace of --dump-layers.
#pragma once

#include <optional>
#include <vector>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/run/run_options.h"
#include "cli/terminal/context.h"
#include "report/run_report.h"

namespace qsim::cli {

// Makes the folders that the options name (Context::make_folder). Throws Error for one that holds
// vectors.
void make_output_folders(Context& context, const RunCommandOptions& options);

// --out: config.yaml (resolved), run.json, layers.csv; with data also output.npy (the model's
// output in its own layout and dtype) and output_q.npy (the same before any dequantize). `last` is
// the last program layer's ofmap, absent without data.
void keep_run(Context& context, const RunCommandOptions& options, const report::RunReport& report,
              const OutputForm& output, const std::optional<Tensor>& last);
// The same with the outputs of a network with a host: output.npy, output_1.npy, ...
void keep_hosted_run(Context& context, const RunCommandOptions& options,
                     const report::RunReport& report, const std::vector<Tensor>& outputs);

// --dump-layers: throws Error where the graph is too large for a layer trace.
void require_dump_fits(const RunCommandOptions& options, const Graph& graph);

// --dump-layers: the graph, its input, and of each graph layer the engine's ofmap, or golden's
// tensor where the layer runs fused inside another and so has no ofmap of its own (OfmapSink).
void dump_layers(Context& context, const RunCommandOptions& options, const Graph& graph,
                 const Tensor& input, const std::vector<Tensor>& tensors);

}  // namespace qsim::cli
