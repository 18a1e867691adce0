// `qsim golden run` of a network with a host: golden runs the parts of the array, golden's host the
// rest. Of a float network whose operators the float graph lacks the host runs all.
#pragma once

#include "cli/commands/golden_run_hybrid.h"
#include "core/machine/arch_config.h"

namespace qsim::cli {

// The inputs are those of `run`, and so are the outputs' bytes.
ExitCode golden_run_hosted(Context& context, const GoldenRunOptions& options,
                           const ArchConfig& config);

}  // namespace qsim::cli
