// `--report FILE`: the page of a run (report/html/report_page.h), and the chart library that it
// needs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/terminal/context.h"
#include "core/machine/engine.h"
#include "report/html/timeline.h"
#include "report/run_report.h"

namespace qsim::cli {

// Where the chart library is, or should be.
std::filesystem::path chart_library_path();

// The JavaScript that draws a page's charts: charts/vega.js beside the executable, or in share/qsim
// of an installation. `./dev build` puts it there (tools/charts/install.sh). Throws Error when it
// is not there, or is not such a library.
std::string chart_library();

// All of them do nothing without a `file`, which --report names.

// Checks before the work that the engine has times, and that the library is there.
void require_report_can_be_made(const std::string& file, std::string_view engine);

// Writes the page of one run. `report` is complete; `times` are those of `program`.
void write_report(Context& context, const std::string& file, const report::RunReport& report,
                  const Program& program, const CommandTimes& times);
// The same for a run whose timeline was put together by the caller.
void write_report(Context& context, const std::string& file, const report::RunReport& report,
                  const report::Timeline& timeline);

}  // namespace qsim::cli
