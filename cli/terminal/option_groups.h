// Which options may be given together.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/terminal/options.h"

namespace qsim {

// Throws Error (exit code 2) for options that exclude each other or miss one another; `app` has
// parsed them.
void check_together(const Options& options, const CLI::App& app);

std::string version_line();  // "qsim 0.1.0 (commit)"

}  // namespace qsim
