// `qsim run` of an ONNX file of which the array runs parts and a host the rest: each part a program
// of its own, the host's nodes between them, the results added up.
#pragma once

#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/run/run_options.h"
#include "cli/terminal/context.h"

namespace qsim::cli {

ExitCode run_hosted(Context& context, const RunCommandOptions& options, const ArchConfig& config,
                    GoldenSelection& golden, const Conditions& conditions);

}  // namespace qsim::cli
