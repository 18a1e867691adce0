// The options of `qsim profile` and `qsim compare`; --fail-if and --report, which `run` has too.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/terminal/options.h"

namespace qsim {

// --config of `profile`, which takes several.
void add_configs_option(CLI::App& app, Options& options);
void add_fail_if_option(CLI::App& app, Options& options);
// --rounding with golden's own roundings as well; --rounding of what has an accelerator, and
// --snap.
void add_golden_rounding_option(CLI::App& app, Options& options);
void add_scale_options(CLI::App& app, Options& options);
void add_report_option(CLI::App& app, Options& options);
void add_profile_options(CLI::App& app, Options& options);
void add_compare_options(CLI::App& app, Options& options);

// Throws Error (exit code 2) for options of `profile` that exclude each other, and for --fail-if of
// a run without times.
void check_profile_options(const Options& options, const CLI::App& app);

}  // namespace qsim
