// The first passes of every compilation: which layers run as one, and whether the accelerator has
// what each of them needs.
#pragma once

#include <vector>

#include "compiler/passes/passes.h"
#include "core/machine/arch_config.h"
#include "core/network/graph.h"

namespace qsim::compiler {

// The graph's layers after fuse_layers(). Throws Error (exit code 4) that lists every layer which
// the accelerator cannot run, whatever its memories hold: windows, roundings, scales, additions,
// tables; and, if there is such a layer, those whose weights fold_zero_points() refuses.
std::vector<FusedLayer> accepted_layers(const Graph& graph, const ArchConfig& arch,
                                        const Remedies& remedies = {});

// What that list is; empty where accepted_layers() throws nothing and the weights are accepted too.
Refusals layer_refusals(const Graph& graph, const ArchConfig& arch, const Remedies& remedies = {});

}  // namespace qsim::compiler
