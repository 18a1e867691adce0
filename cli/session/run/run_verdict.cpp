#include "cli/session/run/run_verdict.h"

#include <sstream>

#include "cli/host_tensors/classes.h"
#include "cli/session/results/report_page_option.h"
#include "cli/session/run/run_folder.h"
#include "cli/session/traces/rtl_trace_option.h"
#include "report/json_printer.h"
#include "report/table_printer.h"

namespace qsim::cli {
namespace {

constexpr std::size_t kTopClasses = 5;

// The most likely classes of the first picture; none where the output is not a vector of classes,
// or where the last ofmap is a picture that the host flattens.
std::vector<report::OutputClass> classes_of(const Tensor& last, const Network& network) {
  const OutputForm& output = network.output;
  if (!has_classes(output) || last.shape != output.value.shape.nhwc()) return {};
  return best_classes(last, output, 0, network.labels, kTopClasses);
}

std::optional<report::VerifySummary> summary_of(const FinishedRun& run) {
  const std::optional<report::Comparison> comparison = run.sink.comparison();
  if (!comparison) return std::nullopt;
  return report::VerifySummary{run.golden, *comparison};
}

void print(const report::RunReport& report, Context& context) {
  std::ostringstream text;
  report::print_run(report, text);
  context.print_json(report::run_json(report));
  context.print(text.str());
}

}  // namespace

namespace {

ExitCode print_verdict(const report::RunReport& report, Context& context) {
  print(report, context);
  const bool differs = report.verify && report.verify->comparison.mismatches() > 0;
  return differs ? ExitCode::kMismatch : ExitCode::kOk;
}

}  // namespace

ExitCode finish_report(Context& context, const RunCommandOptions& options,
                       const report::RunReport& report) {
  keep_run(context, options, report, {}, std::nullopt);
  return print_verdict(report, context);
}

ExitCode finish_hosted_run(Context& context, const RunCommandOptions& options,
                           const report::RunReport& report, const std::vector<Tensor>& outputs) {
  keep_hosted_run(context, options, report, outputs);
  return print_verdict(report, context);
}

ExitCode finish_run(Context& context, const RunCommandOptions& options, report::RunReport& report,
                    const FinishedRun& run) {
  const std::optional<Tensor>& last = run.sink.last();
  report.verify = summary_of(run);
  if (last) report.top = classes_of(*last, run.network);
  keep_run(context, options, report, run.network.output, last);
  dump_layers(context, options, run.graph, run.network.input, run.tensors);
  write_report(context, options.report, report, run.program, run.times);
  print(report, context);
  const bool differs = report.verify && report.verify->comparison.mismatches() > 0;
  if (differs) return ExitCode::kMismatch;
  if (report.total.timing) require_window_in_run(options, report.total.timing->cycles);
  return ExitCode::kOk;
}

}  // namespace qsim::cli
