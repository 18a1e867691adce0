#include "cli/session/run_verdict.h"

#include <sstream>

#include "cli/host_tensors/output_classes.h"
#include "cli/session/rtl_trace_option.h"
#include "cli/session/run_folder.h"
#include "report/json_printer.h"
#include "report/table_printer.h"

namespace qsim {
namespace {

std::optional<VerifySummary> summary_of(const FinishedRun& run) {
  const std::optional<Comparison> comparison = run.sink.comparison();
  if (!comparison) return std::nullopt;
  return VerifySummary{run.golden, *comparison};
}

void print(const RunReport& report, Context& context) {
  std::ostringstream text;
  print_run(report, text);
  context.print_json(run_json(report));
  context.print(text.str());
}

}  // namespace

ExitCode finish_run(Context& context, RunReport& report, const FinishedRun& run) {
  const std::optional<Tensor>& last = run.sink.last();
  report.verify = summary_of(run);
  if (last) report.top = classes_of(run.network, *last);
  keep_run(context, report, run.network, run.program, last);
  dump_layers(context, run.network, run.tensors);
  print(report, context);
  const bool differs = report.verify && report.verify->comparison.mismatches() > 0;
  if (differs) return ExitCode::kMismatch;
  if (report.total.timing) require_window_in_run(context.options(), report.total.timing->cycles);
  return ExitCode::kOk;
}

}  // namespace qsim
