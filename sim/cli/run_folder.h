// What `run` leaves behind: the folder of --out, and the layer trace of --dump-layers.
#pragma once

#include "core/engine.h"
#include "report/run_report.h"
#include "sim/cli/context.h"
#include "sim/cli/network.h"

namespace qsim {

// Makes the folders that the options name (Context::make_folder).
void make_output_folders(Context& context);

// --out: config.yaml (resolved), run.json, layers.csv; with data also output.npy (the model's
// output in its own layout and dtype) and output_q.npy (the same before any dequantize).
void keep_run(Context& context, const RunReport& report, const Network& network,
              const Program& program, const RunResult& result);

// --dump-layers: the engine's ofmap of each program layer; `golden`'s tensor for a graph layer that
// runs fused inside one and so has no ofmap of its own.
void dump_layers(Context& context, const Network& network, const Program& program,
                 RunResult& result, std::vector<Tensor>& golden);

}  // namespace qsim
