// `qsim compare`: two files that --json of `run` or `profile` wrote, side by side.
#include "cli/commands/commands.h"
#include "cli/session/inputs/model_source.h"
#include "cli/terminal/usage_error.h"
#include "report/results/result_comparison.h"

namespace qsim::cli {
namespace {

struct CompareOptions : ConfigOption {
  Words results;  // two files
};

void require_two_files(const Words& files) {
  if (files.size() == 2) return;
  std::string list;
  for (const std::string& file : files) list += (list.empty() ? ": " : ", ") + file;
  usage_error("qsim compare takes two files that --json of run or profile wrote; found " +
              std::to_string(files.size()) + list);
}

void declare_compare(Declarations& declared, CompareOptions& options) {
  declare_config(declared, options);
  OptionRow& row =
      declared.repeated("results", options.results, "two files that --json of run or profile wrote")
          .called("FILE FILE")
          .read(Reads::kFile, "the results");
  row.takes_more_words = true;
  declared.check([&] { require_two_files(options.results); });
}

ExitCode compare_command(Context& context, const CompareOptions& options) {
  check_unused_config(options);
  const report::ResultsFile first = report::load_results(options.results[0]);
  const report::ResultsFile second = report::load_results(options.results[1]);
  context.print(report::comparison_sheet(first, second));
  return ExitCode::kOk;
}

constexpr const char* kCompareText = R"(
[Output](output.md) says how results are matched.
)";

}  // namespace

const CommandRow kCompareCommand = {
    "compare", "say what changed between two results of run or profile, and why",
    command_of<CompareOptions, declare_compare, compare_command>, kCompareText};

}  // namespace qsim::cli
