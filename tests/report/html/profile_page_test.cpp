// The page of a profile: its points, which of them have room, and which runs are in detail.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/html/report_page.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace report;
namespace {

using Json = nlohmann::ordered_json;

NetworkResult point(std::size_t number, std::uint64_t cycles, std::uint64_t bytes) {
  NetworkResult made;
  made.model = "net";
  made.config = "pe4x4";
  made.set = {{"bus_bytes", static_cast<std::int64_t>(number)}};
  made.dataflow = "ws";
  made.pes = 16;
  made.sram_kib = 96;
  made.total.name = "total";
  made.total.dataflow = "weight_stationary";
  made.total.cycles = cycles;
  made.total.dram_read_bytes = bytes;
  made.total.limited_by = "array";
  made.layers = {made.total};
  return made;
}

Profile profile_of(std::vector<NetworkResult> points) {
  Profile profile;
  profile.points = std::move(points);
  complete_points(profile);
  choose_winners(profile);
  return profile;
}

// Cycles rise and bytes fall over the first `front` points; the others are worse in both.
Profile many_points(std::size_t front, std::size_t others) {
  std::vector<NetworkResult> points;
  for (std::size_t i = 0; i < others; ++i) points.push_back(point(i, 5000 + i, 9000));
  for (std::size_t i = 0; i < front; ++i) points.push_back(point(others + i, 100 + i, 5000 - i));
  return profile_of(std::move(points));
}

// A report of `layers` layers.
RunReport long_report(std::size_t layers) {
  RunReport report = sample_report();
  while (report.layers.size() < layers) report.layers.push_back(report.layers[0]);
  return report;
}

Json data_of(std::span<const PageRun> runs, const Profile& profile,
             std::size_t most_bytes = 1'000'000) {
  const std::string text = page_data({.runs = runs, .profile = &profile}, most_bytes);
  EXPECT_LE(text.size(), most_bytes + 1000);
  return Json::parse(text);
}

TEST(ProfilePage, HasEveryPointThatRanAndTheWinnersWithTheirReasons) {
  NetworkResult refused = point(3, 0, 0);
  refused.error = "no room";
  Profile profile = profile_of({point(8, 200, 9), point(16, 100, 7), refused, point(4, 100, 8)});
  profile.points[1].area_mm2 = 1.5;
  profile.points[1].total.energy = 3.0;
  const RunReport report = sample_report();
  const PageRun run{.label = "first", .report = &report, .point = 1};
  const Json data = data_of(std::span(&run, 1), profile);
  ASSERT_EQ(data["points"].size(), 3U);
  const Json& best = data["points"][1];
  EXPECT_EQ(best, Json::parse(R"({"label": "pe4x4, bus_bytes 16, ws", "model": "net",
      "dataflow": "weight_stationary", "cycles": 100, "dram_bytes": 7, "energy": 3.0,
      "energy_delay": 300.0, "area_mm2": 1.5, "pes": 16, "sram_kib": 96, "utilization": 0.0,
      "limited_by": "array", "limiter_busy": 0.0, "pareto_front": true, "wins": true, "run": 0})"));
  EXPECT_EQ(data["points"][0]["run"], nullptr);
  EXPECT_EQ(data["points"][0]["pareto_front"], false);
  EXPECT_EQ(data["points"][2]["label"], "pe4x4, bus_bytes 4, ws");
  EXPECT_EQ(data["points_left_out"], 0);
  EXPECT_EQ(data["profile"]["measure"], "cycles");
  EXPECT_EQ(data["profile"]["winners"][0]["label"], "pe4x4, bus_bytes 16, ws");
  EXPECT_EQ(data["profile"]["winners"][0]["reasons"], Json(profile.winners[0].reasons));
  EXPECT_EQ(page_title({.runs = std::span(&run, 1), .profile = &profile}),
            "net on pe4x4, 4 points");
  EXPECT_EQ(page_summary({.runs = std::span(&run, 1), .profile = &profile}),
            "pe4x4, bus_bytes 16, ws wins for net (fewest cycles): " +
                profile.winners[0].reasons[0] + " " + profile.winners[0].reasons[1]);
}

TEST(ProfilePage, NamesTheModelWhereThereAreSeveral) {
  NetworkResult other = point(8, 5, 5);
  other.model = "other";
  const Profile profile = profile_of({point(8, 200, 9), other});
  const RunReport report = sample_report();
  const PageRun run{.label = "first", .report = &report, .point = 1};
  const Json data = data_of(std::span(&run, 1), profile);
  EXPECT_EQ(data["points"][1]["label"], "other on pe4x4, bus_bytes 8, ws");
  EXPECT_EQ(data["points"][1]["run"], 0);
}

TEST(ProfilePage, LeavesOutPointsThatNeitherWinNorAreOnTheFront) {
  const Profile profile = many_points(20, 2000);
  const RunReport report = sample_report();
  const PageRun run{.label = "first", .report = &report, .point = 2000};
  const Json data = data_of(std::span(&run, 1), profile, 200'000);
  const std::size_t kept = data["points"].size();
  EXPECT_GE(kept, 100U);
  EXPECT_LT(kept, 2020U);
  EXPECT_EQ(data["points_left_out"], 2020 - kept);
  std::size_t front = 0;
  for (const Json& each : data["points"]) {
    if (each["pareto_front"]) ++front;
    // The others that are kept have the fewest cycles.
    EXPECT_TRUE(each["pareto_front"] || each["cycles"] < 5000 + kept - 20) << each;
  }
  EXPECT_EQ(front, 20U);
  EXPECT_EQ(data["points"][kept - 20]["wins"], true);
}

TEST(ProfilePage, KeepsAWinnerThatIsNotOnTheFront) {
  std::vector<NetworkResult> points;
  // All but one move the same bytes, and that one beats them in all that the front is of.
  for (std::size_t i = 0; i < 500; ++i) points.push_back(point(i, 9999 - i, 10));
  points.push_back(point(500, 100, 9000));
  for (NetworkResult& each : points) each.total.energy = static_cast<double>(each.total.cycles);
  Profile profile;
  profile.measure = Measure::kDramBytes;
  profile.points = std::move(points);
  complete_points(profile);
  choose_winners(profile);
  const RunReport report = sample_report();
  const PageRun run{.label = "first", .report = &report, .point = 499};
  const Json data = data_of(std::span(&run, 1), profile, 60'000);
  EXPECT_GT(data["points_left_out"], 0U);
  const Json& best = data["points"][data["points"].size() - 2];
  EXPECT_EQ(best["cycles"], 9500);
  EXPECT_EQ(best["wins"], true);
  EXPECT_EQ(best["pareto_front"], false);
  EXPECT_EQ(best["run"], 0);
}

TEST(ProfilePage, HasRunsInTheirOrderWhileTheyFitAndTimelinesInWhatIsLeft) {
  const Timeline timeline = timeline_of(sample_program(), sample_result().times);
  const Profile profile = many_points(30, 0);
  const RunReport report = long_report(40);
  std::vector<PageRun> runs;
  for (std::size_t i = 0; i < 30; ++i) {
    runs.push_back({.label = "run " + std::to_string(i),
                    .report = &report,
                    .timeline = &timeline,
                    .point = 29 - i});
  }
  const std::size_t one = page_data({.runs = std::span(runs.data(), 1)}, 10'000'000).size();
  const Json data = data_of(runs, profile, 16 * one);
  const std::size_t shown = data["runs"].size();
  EXPECT_GE(shown, 4U);
  EXPECT_LT(shown, 16U);
  for (std::size_t i = 0; i < shown; ++i) {
    EXPECT_EQ(data["runs"][i]["label"], "run " + std::to_string(i));
    EXPECT_EQ(data["runs"][i]["run"]["layers"].size(), 40U);
    EXPECT_FALSE(data["runs"][i]["timeline"].is_null());
  }
  for (std::size_t i = 0; i < 30; ++i) {
    const Json& run = data["points"][i]["run"];
    EXPECT_EQ(run, 29 - i < shown ? Json(29 - i) : Json(nullptr)) << i;
  }
}

TEST(ProfilePage, HasItsFirstRunWhateverTheRoom) {
  const Profile profile = many_points(3, 0);
  const RunReport report = long_report(40);
  const PageRun runs[] = {{.label = "a", .report = &report}, {.label = "b", .report = &report}};
  const Json data = Json::parse(page_data({.runs = runs, .profile = &profile}, 1000));
  ASSERT_EQ(data["runs"].size(), 1U);
  EXPECT_EQ(data["runs"][0]["run"]["layers"].size(), 40U);
}

}  // namespace
}  // namespace qsim
