// What `run` leaves behind: the folder of --out, and the layer trace of --dump-layers.
#pragma once

#include <optional>
#include <vector>

#include "cli/session/network.h"
#include "cli/terminal/context.h"
#include "core/program.h"
#include "report/run_report.h"

namespace qsim {

// Makes the folders that the options name (Context::make_folder).
void make_output_folders(Context& context);

// --out: config.yaml (resolved), run.json, layers.csv; with data also output.npy (the model's
// output in its own layout and dtype) and output_q.npy (the same before any dequantize). `last` is
// the last program layer's ofmap, absent without data.
void keep_run(Context& context, const RunReport& report, const Network& network,
              const Program& program, const std::optional<Tensor>& last);

// --dump-layers: of each graph layer the engine's ofmap, or golden's tensor where it runs fused
// inside another and so has no ofmap of its own (OfmapSink).
void dump_layers(Context& context, const Network& network, const std::vector<Tensor>& tensors);

}  // namespace qsim
