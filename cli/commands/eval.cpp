// `qsim eval`: what networks and engines get right of many pictures, and where they agree.
#include "cli/commands/commands.h"
#include "cli/session/eval/eval_report.h"
#include "cli/terminal/output_folders.h"
#include "files/files.h"
#include "files/npy.h"

namespace qsim {
namespace {

void write_folder(Context& context, const EvalReport& report, const std::string& json) {
  if (context.options().out.empty()) return;
  const std::filesystem::path folder = context.options().out;
  remove_file(folder / kEvalFile);  // it would speak of other predictions
  context.write_file(folder / kPredictionsFile, npy_bytes(eval_predictions(report)));
  context.write_file(folder / kOutputsFile, npy_bytes(eval_outputs(report)));
  context.write_file(folder / kEvalFile, json);
}

}  // namespace

ExitCode eval_command(Context& context) {
  const Options& options = context.options();
  if (!options.out.empty()) {
    context.make_folder(options.out);
    require_no_vectors(options.out);
  }
  const ArchConfig config = load_config(context);
  std::vector<EvalNetwork> networks = load_eval_networks(context, config);
  const EvalReport report =
      make_eval_report(options, context.argv(), networks, run_engines(context, config, networks));
  const std::string json = eval_json(report);
  write_folder(context, report, json);
  context.print_json(json);
  context.print(eval_text(report));
  return report.is_complete() ? ExitCode::kOk : ExitCode::kInterrupted;
}

}  // namespace qsim
