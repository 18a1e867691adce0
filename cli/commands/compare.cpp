// `qsim compare`: two files that --json of `run` or `profile` wrote, side by side.
#include "cli/commands/commands.h"
#include "cli/session/inputs/model_source.h"
#include "report/results/result_comparison.h"

namespace qsim {

ExitCode compare_command(Context& context) {
  const Options& options = context.options();
  check_unused_config(options);
  const ResultsFile first = load_results(options.results[0]);
  const ResultsFile second = load_results(options.results[1]);
  context.print(comparison_sheet(first, second));
  return ExitCode::kOk;
}

}  // namespace qsim
