// `qsim eval`: what networks and engines get right of many pictures, and where they agree.
#include "cli/commands/commands.h"
#include "cli/session/eval/eval_report.h"
#include "formats/files/files.h"
#include "formats/traces/npy.h"

namespace qsim::cli {
namespace {

void write_folder(Context& context, const std::filesystem::path& folder, const EvalReport& report,
                  const std::string& json) {
  if (folder.empty()) return;
  formats::remove_file(folder / kEvalFile);  // it would speak of other predictions
  context.write_file(folder / kPredictionsFile, formats::npy_bytes(eval_predictions(report)));
  context.write_file(folder / kOutputsFile, formats::npy_bytes(eval_outputs(report)));
  context.write_file(folder / kEvalFile, json);
}

ExitCode eval_command(Context& context, const EvalOptions& options) {
  make_output_folder(context, options.out);
  const ArchConfig config = load_config(context, options);
  std::vector<EvalNetwork> networks = load_eval_networks(context, options, config);
  const EvalReport report =
      make_eval_report(options, context.argv(), networks, run_engines(context, options, networks));
  const std::string json = eval_json(report);
  write_folder(context, options.out, report, json);
  context.print_json(json);
  context.print(eval_text(report));
  return report.is_complete() ? ExitCode::kOk : ExitCode::kInterrupted;
}

constexpr const char* kEvalText = R"(
It counts top-1, top-5, classes, confusion, outputs that differ, and McNemar's test. [Eval](eval.md) has the engines,
what is counted, what is kept in `--out`, and the JSON (`qsim.eval/1`).
)";

}  // namespace

const CommandRow kEvalCommand = {
    "eval", "count what networks and engines get right of many pictures, and where they agree",
    command_of<EvalOptions, declare_eval, eval_command>, kEvalText};

}  // namespace qsim::cli
