// report/html/report_page.h and page_data.h. tests/system/report_page_test.py looks at pages in a
// browser.
#include "report/html/report_page.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/json_printer.h"
#include "report/limiter_words.h"
#include "tests/report/sample_run.h"

namespace qsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHostile = "</script><script>alert(1)</script><!-- \" ' & \xff";

PageRun run_of(const RunReport& report, const Timeline* timeline = nullptr) {
  return {.label = "the run", .report = &report, .timeline = timeline};
}

Json data_of(std::span<const PageRun> runs, std::size_t most_bytes = 1'000'000) {
  return Json::parse(page_data(runs, most_bytes));
}

// A report of `layers` layers, the total with that many cycles.
RunReport long_report(std::size_t layers, std::uint64_t cycles) {
  RunReport report = sample_report();
  while (report.layers.size() < layers) report.layers.push_back(report.layers[0]);
  report.total.timing->cycles = cycles;
  return report;
}

TEST(PageData, IsTheJsonOfTheRunWithWordsBesideIt) {
  const RunReport report = sample_report();
  const Timeline timeline = timeline_of(sample_program(), sample_result().times);
  const PageRun run = run_of(report, &timeline);
  const Json data = data_of(std::span(&run, 1));
  EXPECT_EQ(data["schema"], "qsim.page/1");
  EXPECT_EQ(data["runs_left_out"], 0);
  ASSERT_EQ(data["runs"].size(), 1U);
  const Json& json = data["runs"][0];
  EXPECT_EQ(json["label"], "the run");
  EXPECT_EQ(json["run"], Json::parse(run_json(report)));
  EXPECT_EQ(json["words"], limiter_words("The network", *report.total.timing, report.config));
  EXPECT_EQ(json["layer_words"],
            Json::array({limiter_words("conv1", *report.layers[0].timing, report.config),
                         limiter_words("fc, last", *report.layers[1].timing, report.config)}));
  EXPECT_EQ(json["detail"], true);
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
  const std::string data = page_data(std::span(&run, 1), 1'000'000);
  EXPECT_EQ(data.find('<'), std::string::npos);
  const std::string name = Json::parse(data)["runs"][0]["run"]["layers"][0]["name"];
  EXPECT_EQ(name.substr(0, 9), "</script>");
}

TEST(PageData, LeavesOutWhatHasNoRoomFromTheRunsOfMostCycles) {
  const Timeline timeline = timeline_of(sample_program(), sample_result().times);
  std::vector<RunReport> reports;
  for (std::uint64_t i = 0; i < 30; ++i) reports.push_back(long_report(40, 2000 - i));
  std::vector<PageRun> runs;
  for (const RunReport& report : reports) runs.push_back(run_of(report, &timeline));
  const std::size_t one = page_data(std::span(runs.data(), 1), 10'000'000).size();
  const std::size_t most = 8 * one;
  const std::string text = page_data(runs, most);
  EXPECT_LE(text.size(), most + 1000);
  const Json data = Json::parse(text);
  ASSERT_EQ(data["runs"].size(), 30U);
  std::size_t detailed = 0;
  bool were_all_before = true;
  for (std::size_t i = 30; i-- > 0;) {
    const bool detail = data["runs"][i]["detail"];
    EXPECT_TRUE(were_all_before || !detail) << "run " << i << " has more cycles than one without";
    EXPECT_EQ(data["runs"][i]["run"]["layers"].size(), detail ? 40U : 0U);
    EXPECT_TRUE(detail || data["runs"][i]["timeline"].is_null());
    were_all_before = detail;
    detailed += detail ? 1 : 0;
  }
  EXPECT_GE(detailed, 2U);
  EXPECT_LT(detailed, 30U);
}

TEST(PageData, LeavesWholeRunsOutWhereNotEvenTheirTotalsFit) {
  std::vector<RunReport> reports;
  for (std::uint64_t i = 0; i < 50; ++i) reports.push_back(long_report(2, 1000 + i));
  std::vector<PageRun> runs;
  for (const RunReport& report : reports) runs.push_back(run_of(report));
  const Json data = data_of(runs, 60'000);
  const std::size_t kept = data["runs"].size();
  EXPECT_GE(kept, 5U);
  EXPECT_LT(kept, 50U);
  EXPECT_EQ(data["runs_left_out"], 50 - kept);
  for (std::size_t i = 0; i < kept; ++i) {
    EXPECT_EQ(data["runs"][i]["run"]["total"]["cycles"], 1000 + i);
  }
}

TEST(PageSummary, SaysWhatLimitsTheRunAndItsLongestLayer) {
  const RunReport report = sample_report();
  const PageRun run = run_of(report);
  EXPECT_EQ(page_title(std::span(&run, 1)), "sample on pe4x4");
  EXPECT_EQ(page_summary(std::span(&run, 1)),
            limiter_words("The network", *report.total.timing, report.config) +
                " Its longest layer has 52.6% of the cycles: " +
                limiter_words("conv1", *report.layers[0].timing, report.config));
}

TEST(PageSummary, OfSeveralRunsNamesTheOneOfFewestCycles) {
  RunReport slow = sample_report();
  slow.total.timing->cycles = 500;
  slow.config.name = "pe8x8";
  const RunReport fast = sample_report();
  const PageRun runs[] = {{.label = "slow", .report = &slow}, {.label = "fast", .report = &fast}};
  EXPECT_EQ(page_title(runs), "sample on 2 configurations, 2 runs");
  EXPECT_EQ(page_summary(runs).substr(0, 60),
            "Of 2 runs, fast takes the fewest cycles. The network takes 1");
}

TEST(ReportPage, ShowsNamesAsText) {
  RunReport report = sample_report();
  report.provenance.model = kHostile;
  const PageRun run = run_of(report);
  const std::string page = report_page(std::span(&run, 1), "/* vegaEmbed */");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("<h1>&lt;/script&gt;&lt;script&gt;alert(1)"), std::string::npos);
  EXPECT_EQ(html_text("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
}

TEST(ReportPage, FillsEachPlaceOnceAndReadsNothingThatItPutIn) {
  RunReport report = sample_report();
  report.provenance.model = "{{library}}";
  const PageRun run = run_of(report);
  const std::string page = report_page(std::span(&run, 1), "/* vegaEmbed {{title}} */");
  EXPECT_NE(page.find("<title>{{library}} on pe4x4 - qsim</title>"), std::string::npos);
  EXPECT_NE(page.find("<script>/* vegaEmbed {{title}} */</script>"), std::string::npos);
  EXPECT_EQ(page.find("{{data}}"), std::string::npos);
  EXPECT_EQ(page.find("{{style}}"), std::string::npos);
  EXPECT_EQ(page.find("{{script}}"), std::string::npos);
}

TEST(ReportPage, ForbidsItselfTheNetwork) {
  const RunReport report = sample_report();
  const PageRun run = run_of(report);
  const std::string page = report_page(std::span(&run, 1), "/* vegaEmbed */");
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
  const std::string page = report_page(std::span(&run, 1), std::string(900'000, ' '));
  EXPECT_LE(page.size(), kMostPageBytes + 1000);
  EXPECT_NE(page.find("\"lanes\""), std::string::npos);
}

}  // namespace
}  // namespace qsim
