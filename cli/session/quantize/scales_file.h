// The JSON file of --scales: schema qsim.scales/1, which models/train writes.
#pragma once

#include <filesystem>

#include "quantize/given_scales.h"

namespace qsim::cli {

// Throws Error (exit code 3) naming the file and the field, what was found and what is allowed.
quantize::GivenScales read_scales_file(const std::filesystem::path& path);

// Whether its tensors are unsigned. Throws Error where some are and others are not.
bool has_unsigned_levels(const quantize::GivenScales& scales, const std::string& file);

}  // namespace qsim::cli
