// Mapping files: versioned YAML of named layers, for --mapping and --write-mapping.
// docs/reference/mapping.md describes them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/machine/arch_config.h"
#include "core/machine/mapping.h"

namespace qsim::formats {

// The layers of a mapping file, each with its places in it. Throws Error with file:line:column for
// an unknown or duplicate key, a field that is missing, malformed or no number from 0 to 2^31 - 1,
// a layer that is there twice, a version other than 1, and an array of another size than `arch`'s.
// Whether a mapping fits its layer is for the compiler to say.
std::vector<LayerMapping> load_mapping_file(const std::filesystem::path& path,
                                            const ArchConfig& arch);

// A file that load_mapping_file reads back to equal mappings. Throws Error (exit code 3) for one
// longer than kMaxMappingBytes. `model` says for which model.
std::string mapping_file_yaml(const std::string& model, const ArchConfig& arch,
                              std::span<const LayerMapping> layers);

}  // namespace qsim::formats
