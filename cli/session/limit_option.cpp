#include "cli/session/limit_option.h"

#include <algorithm>

#include "cli/terminal/output_files.h"

namespace qsim {

Limits load_limits(const Options& options) {
  Limits limits;
  for (const std::string& text : options.fail_if) limits.conditions.emplace_back(text);
  for (const LimitExpression& condition : limits.conditions) {
    for (const std::string& file : condition.files()) {
      const bool is_loaded =
          std::any_of(limits.base.begin(), limits.base.end(),
                      [&](const ResultsFile& other) { return other.name == file; });
      if (is_loaded) continue;
      require_not_written(options, file, "the results of --fail-if");
      limits.base.push_back(load_results(file));
    }
  }
  return limits;
}

void require_limits(const Limits& limits, const RunReport& report) {
  if (limits.conditions.empty()) return;
  NetworkResult result;
  fill_result(result, report, {});
  result.model = report.provenance.model;
  result.config = report.config.name;
  result.dataflow = short_dataflow(result.total.dataflow);
  require_limits(limits.conditions, {result}, limits.base);
}

}  // namespace qsim
