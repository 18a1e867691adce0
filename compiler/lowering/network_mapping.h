// The mappings of a network's layers: those that the user gives, and for the others what the mapper
// chooses.
#pragma once

#include <span>

#include "compiler/lowering/memory_plan.h"

namespace qsim::compiler {

// Sets the mapping of each layer; nothing else of `layers` changes, and their addresses may still
// be 0. With options.mixes_dataflows each layer has the best of its three dataflows, or all layers
// have the same one, whichever is best for the whole network: layers start at a boundary, so its
// cycles, bytes and energy are the sums of theirs. Throws Error (exit code 4) when a layer does not
// fit the accelerator; (exit code 3) when a given mapping does not fit its layer, or names no
// layer.
void choose_mappings(std::span<PlannedLayer> layers, const ArchConfig& arch,
                     const CompileOptions& options);

}  // namespace qsim::compiler
