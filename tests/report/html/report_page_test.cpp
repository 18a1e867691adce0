// report/html/report_page.h and page_data.h. tests/system/report/ looks at pages in a
// browser.
#include "report/html/report_page.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/json_printer.h"
#include "report/limiter_words.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace report;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHostile = "</script><script>alert(1)</script><!-- \" ' & \xff";

PageRun run_of(const RunReport& report, const Timeline* timeline = nullptr) {
  return {.label = "the run", .report = &report, .timeline = timeline};
}

Json data_of(std::span<const PageRun> runs, std::size_t most_bytes = 1'000'000) {
  return Json::parse(page_data({.runs = runs}, most_bytes));
}

TEST(PageData, IsTheJsonOfTheRunWithWordsBesideIt) {
  const RunReport report = sample_report();
  const Timeline timeline = timeline_of(sample_program(), sample_result().times);
  const PageRun run = run_of(report, &timeline);
  const Json data = data_of(std::span(&run, 1));
  EXPECT_EQ(data["schema"], "qsim.page/2");
  EXPECT_EQ(data["profile"], nullptr);
  EXPECT_EQ(data["points"], Json::array());
  ASSERT_EQ(data["runs"].size(), 1U);
  const Json& json = data["runs"][0];
  EXPECT_EQ(json["label"], "the run");
  EXPECT_EQ(json["run"], Json::parse(run_json(report)));
  EXPECT_EQ(json["words"], limiter_words("The network", *report.total.timing, report.config));
  EXPECT_EQ(json["layer_words"],
            Json::array({limiter_words("conv1", *report.layers[0].timing, report.config),
                         limiter_words("fc, last", *report.layers[1].timing, report.config)}));
  EXPECT_EQ(json["dataflow"], "weight_stationary");
  EXPECT_EQ(json["area_mm2"], nullptr);
  EXPECT_EQ(json["array_time_labels"]["useful"], "useful MACs");
  EXPECT_EQ(json["timeline"]["joined_gap"], nullptr);
  EXPECT_EQ(json["timeline"]["lanes"]["execute"], lane_text(timeline.lanes[3]));
}

TEST(PageData, DifferentDataflowsAreMixed) {
  RunReport report = sample_report();
  report.layers[1].dataflow = "output_stationary";
  const PageRun run = run_of(report);
  EXPECT_EQ(data_of(std::span(&run, 1))["runs"][0]["dataflow"], "mixed");
}

TEST(PageData, HoldsNothingThatEndsItsScriptElement) {
  RunReport report = sample_report();
  report.layers[0].name = report.provenance.model = report.config.name = kHostile;
  const PageRun run{.label = kHostile, .report = &report};
  const std::string data = page_data({.runs = std::span(&run, 1)}, 1'000'000);
  EXPECT_EQ(data.find('<'), std::string::npos);
  const std::string name = Json::parse(data)["runs"][0]["run"]["layers"][0]["name"];
  EXPECT_EQ(name.substr(0, 9), "</script>");
}

TEST(PageSummary, SaysWhatLimitsTheRunAndItsLongestLayer) {
  const RunReport report = sample_report();
  const PageRun run = run_of(report);
  EXPECT_EQ(page_title({.runs = std::span(&run, 1)}), "sample on pe4x4");
  EXPECT_EQ(page_summary({.runs = std::span(&run, 1)}),
            limiter_words("The network", *report.total.timing, report.config) +
                " Its longest layer has 52.6% of the cycles: " +
                limiter_words("conv1", *report.layers[0].timing, report.config));
}

TEST(ReportPage, ShowsNamesAsText) {
  RunReport report = sample_report();
  report.provenance.model = kHostile;
  const PageRun run = run_of(report);
  const std::string page = report_page({.runs = std::span(&run, 1)}, "/* vegaEmbed */");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("<h1>&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
  EXPECT_EQ(html_text("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
}

TEST(ReportPage, FillsEachPlaceOnceAndReadsNothingThatItPutIn) {
  RunReport report = sample_report();
  report.provenance.model = "{{library}}";
  const PageRun run = run_of(report);
  const std::string page = report_page({.runs = std::span(&run, 1)}, "/* vegaEmbed {{title}} */");
  EXPECT_NE(page.find("<title>{{library}} on pe4x4 - qsim</title>"), std::string::npos);
  EXPECT_NE(page.find("<script>/* vegaEmbed {{title}} */</script>"), std::string::npos);
  EXPECT_EQ(page.find("{{data}}"), std::string::npos);
  EXPECT_EQ(page.find("{{style}}"), std::string::npos);
  EXPECT_EQ(page.find("{{script}}"), std::string::npos);
}

TEST(ReportPage, ForbidsItselfTheNetwork) {
  const RunReport report = sample_report();
  const PageRun run = run_of(report);
  const std::string page = report_page({.runs = std::span(&run, 1)}, "/* vegaEmbed */");
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* fetched : {"src=\"", "<link", "@import", "url("}) {
    EXPECT_EQ(page.find(fetched), std::string::npos) << fetched;
  }
}

TEST(ReportPage, IsBelowItsMostBytesForHalfAMillionCommands) {
  const RunReport report = sample_report();
  Timeline timeline;
  for (TimelineLane& lane : timeline.lanes) {
    for (std::uint64_t i = 0; i < 80'000; ++i) {
      const std::uint64_t begin = 1000 * i;
      lane.push_back(
          {begin, begin + 300 + i % 600, 300 + i % 600, 1, static_cast<std::uint32_t>(i / 5000)});
    }
    timeline.cycles = lane.back().end;
  }
  const PageRun run = run_of(report, &timeline);
  const std::string page = report_page({.runs = std::span(&run, 1)}, std::string(900'000, ' '));
  EXPECT_LE(page.size(), kMostPageBytes + 1000);
  EXPECT_NE(page.find("\"lanes\""), std::string::npos);
}

}  // namespace
}  // namespace qsim
