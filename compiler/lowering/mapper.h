// Chooses each layer's mapping. A mapping's cycles are those of its commands (cost_of), not an
// estimate; bounds decide which mappings are worth timing. docs/reference/mapping.md has the space
// and the searches; mapping_bounds.h proves the bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/layer_timing.h"
#include "compiler/lowering/mapper_options.h"
#include "core/machine/layer_bounds.h"

namespace qsim::compiler {

// The best mapping of a layer. `planned.mapping` is not read. Throws Error (exit code 4), naming
// the layer, when no mapping fits the accelerator: with what the smallest psum tile needs and what
// there is. The result depends on the arguments alone.
MappedLayer map_layer(const PlannedLayer& planned, const ArchConfig& arch,
                      const MapperOptions& options = {});

// Equal for layers, machines and options with equal mappings.
std::vector<std::int64_t> layer_key(const PlannedLayer& planned, const ArchConfig& arch,
                                    const MapperOptions& options);

LayerBounds layer_bounds(const PlannedLayer& planned, const ArchConfig& arch);

}  // namespace qsim::compiler
