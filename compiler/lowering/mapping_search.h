// The searches of the mapper, fast and full; docs/reference/mapping.md describes both.
#pragma once

#include <optional>

#include "compiler/lowering/mapper.h"

namespace qsim::compiler {

// The best mapping of a layer, by the options; nothing where none fits the accelerator.
std::optional<MappedLayer> search_mappings(const PlannedLayer& planned, const ArchConfig& arch,
                                           const MapperOptions& options);

}  // namespace qsim::compiler
