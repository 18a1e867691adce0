#include "cli/session/results/condition_option.h"

#include <algorithm>

#include "cli/terminal/shared_options.h"
#include "core/base/printable.h"

namespace qsim::cli {

using report::require_conditions;

Conditions load_conditions(const Words& texts, bool has_energy, bool is_auto) {
  Conditions conditions;
  conditions.is_auto = is_auto;
  for (const std::string& text : texts) conditions.list.emplace_back(text);
  for (const report::Condition& condition : conditions.list) {
    if (condition.uses_energy() && !has_energy) {
      throw Error(ExitCode::kUsage, "--fail-if '" + echoed(condition.text()) +
                                        "' is about energy or area; give --energy TABLE");
    }
    for (const std::string& file : condition.files()) {
      const bool is_loaded =
          std::any_of(conditions.base.begin(), conditions.base.end(),
                      [&](const report::ResultsFile& other) { return other.name == file; });
      if (is_loaded) continue;
      conditions.base.push_back(report::load_results(file));
    }
  }
  return conditions;
}

std::vector<std::string> condition_files(const Words& texts) {
  std::vector<std::string> files;
  for (const std::string& text : texts) {
    try {
      for (std::string& file : report::Condition(text).files()) files.push_back(std::move(file));
    } catch (const Error&) {
      continue;  // load_conditions() says what is wrong
    }
  }
  return files;
}

void require_conditions(const Conditions& conditions, const report::RunReport& report) {
  if (conditions.list.empty()) return;
  report::NetworkResult result;
  report::fill_result(result, report, {});
  result.model = report.provenance.model;
  result.config = report.config.name;
  result.dataflow =
      conditions.is_auto ? kAutoDataflow : report::short_dataflow(result.total.dataflow);
  require_conditions(conditions.list, {result}, conditions.base);
}

}  // namespace qsim::cli
