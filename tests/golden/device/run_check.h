// The end of main() of the programs that compare kernels on a GPU with the CPU:
// golden_*_cuda_check.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "core/base/error.h"

namespace qsim::golden_test {

// Reads the command line by `app`, whose commands are there, and calls `check`, which runs the one
// that was given. The result is the exit code: that of check or of its error, 2 where the command
// line is wrong, 77 (a skipped test) where there is no GPU to run on.
int run_check(CLI::App& app, int argc, char** argv, const std::function<ExitCode()>& check);

}  // namespace qsim::golden_test
