// The options of each command, as --help lists them.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/terminal/options.h"

namespace qsim {

// Declares the options of `options.command`; parsing fills `options`.
void add_options(CLI::App& app, Options& options);

}  // namespace qsim
