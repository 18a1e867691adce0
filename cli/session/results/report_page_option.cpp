#include "cli/session/results/report_page_option.h"

#include "cli/session/engines/engines.h"
#include "core/base/error.h"
#include "formats/files/files.h"
#include "report/html/report_page.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLibraryBytes = 1'500'000;

std::optional<double> area_mm2(const report::RunReport& report) {
  if (!report.area || !report.area->um2) return std::nullopt;
  return total_mm2(report.area->cells, *report.area->um2);
}

}  // namespace

fs::path chart_library_path() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path beside = folder / "charts" / "vega.js";
  const fs::path installed = folder.parent_path() / "share" / "qsim" / "charts" / "vega.js";
  return fs::exists(installed, error) ? installed : beside;
}

std::string chart_library() {
  const fs::path path = chart_library_path();
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw_bad_input("--report: the chart library " + path.string() +
                    " is not there; `./dev build` gets it from PyPI");
  }
  std::string library = formats::read_text_file(path);
  const bool is_library = library.find("vegaEmbed") != std::string::npos &&
                          library.find("</script") == std::string::npos &&
                          library.find("<!--") == std::string::npos;
  if (!is_library || library.size() > kMostLibraryBytes) {
    throw_bad_input("--report: " + path.string() +
                    " is not the chart library; remove it, and `./dev build` gets it again");
  }
  return library;
}

void require_report_can_be_made(const std::string& file, std::string_view engine) {
  if (file.empty()) return;
  if (!engine_row(engine).has_time) {
    throw Error(ExitCode::kUsage, "--report needs an engine with times; allowed: " +
                                      engine_list(&EngineRow::has_time, ", "));
  }
  chart_library();
}

void write_report(Context& context, const std::string& file, const report::RunReport& report,
                  const Program& program, const CommandTimes& times) {
  if (!file.empty()) write_report(context, file, report, report::timeline_of(program, times));
}

void write_report(Context& context, const std::string& file, const report::RunReport& report,
                  const report::Timeline& timeline) {
  if (file.empty()) return;
  context.progress("writing the report");
  const report::PageRun run{.label = report.provenance.model,
                            .report = &report,
                            .timeline = &timeline,
                            .area_mm2 = area_mm2(report)};
  context.write_file(file, report::report_page({.runs = std::span(&run, 1)}, chart_library()));
}

}  // namespace qsim::cli
