// configs/*.yaml: the fields of core/machine/arch_config.h by name, each optional; and SCALE-Sim's
// .cfg files (scale_sim_config.h).
#pragma once

#include <filesystem>
#include <string>

#include "core/machine/arch_config.h"

namespace qsim::formats {

// Reads and validates a configuration. An absent field has ArchConfig's default; an absent name is
// the file's stem. A file whose name ends in .cfg is one of SCALE-Sim's. Throws Error with
// file:line:column for an unknown or duplicate key (naming the nearest right one) and for a value
// out of range.
ArchConfig load_arch_config(const std::filesystem::path& path);

// The configuration as a file that load_arch_config reads back to an equal one.
std::string arch_config_yaml(const ArchConfig& config);

}  // namespace qsim::formats
