// The commands, one file each. Each returns the exit code and throws Error for what the user can
// mend.
#pragma once

#include "cli/terminal/context.h"
#include "core/error.h"

namespace qsim {

ExitCode run_command(Context& context);
ExitCode verify_command(Context& context);
ExitCode explain_command(Context& context);
ExitCode profile_command(Context& context);
ExitCode compare_command(Context& context);
ExitCode eval_command(Context& context);
ExitCode compile_command(Context& context);
ExitCode inspect_command(Context& context);
ExitCode quantize_command(Context& context);
ExitCode doctor_command(Context& context);
ExitCode golden_info_command(Context& context);
ExitCode golden_run_command(Context& context);
ExitCode golden_bench_command(Context& context);
ExitCode golden_abc_command(Context& context);
ExitCode golden_convert_command(Context& context);
ExitCode golden_linear_command(Context& context);
ExitCode golden_quantize_command(Context& context);
ExitCode export_vectors_command(Context& context);
ExitCode schemes_command(Context& context);

}  // namespace qsim
