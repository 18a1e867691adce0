// The compiler's front door: a quantized Graph becomes a Program for one accelerator.
#pragma once

#include "core/arch_config.h"
#include "core/graph.h"
#include "core/program.h"

namespace qsim {

// Throws Error: exit code 3 for an invalid graph or config, exit code 4, naming the layer, for what
// this accelerator cannot run. The same graph and config always give the same program.
Program compile(const Graph& graph, const ArchConfig& arch);

}  // namespace qsim
