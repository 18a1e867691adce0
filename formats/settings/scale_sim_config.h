// SCALE-Sim's configuration files (.cfg), taken as they are: the accelerator of ours that is
// nearest to the one that a file describes. docs/reference/scale_sim.md has the rule of each key.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim::formats {

struct ScaleSimConfig {
  ArchConfig config;  // valid
  Dataflow dataflow = Dataflow::kWeightStationary;
  // What differs from the file, one sentence each: sizes that were rounded, keys of a part that
  // qsim does not have.
  std::vector<std::string> notes;
};

// Whether the file's name ends in .cfg.
bool is_scale_sim_config(const std::filesystem::path& path);

// Reads the file by the rules of Python's ConfigParser, which SCALE-Sim uses. Throws Error with
// file:line:column for a line, section, key or value that SCALE-Sim does not have or that no
// accelerator of ours fits.
ScaleSimConfig load_scale_sim_config(const std::filesystem::path& path);

}  // namespace qsim::formats
