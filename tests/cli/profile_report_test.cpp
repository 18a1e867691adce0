// `qsim profile --report`: which points the page has, which of them in detail, and what is refused.
// The page itself is looked at by tests/system/report/profile_page_test.py.
#include "tests/cli/own_installation.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kProfiled =
    "name: small\nseed: 3\ninput: {shape: [1, 12, 10, 40], dtype: int8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 70, kernel: 3, pad: 1}\n"
    "  - {op: conv2d, name: second, out_channels: 20, kernel: 1}\n";

class ProfileReport : public OwnInstallation {
 protected:
  ProfileReport() : OwnInstallation(kProfiled) { put_library("bin", "function vegaEmbed() {}"); }

  Outcome run(const std::string& arguments) { return run_own("profile", arguments); }

  // The data of the page that the command writes; p.json has its --json.
  Json page(const std::string& arguments) {
    const Outcome outcome = run(arguments + " --report p.html --json p.json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return page_data("p.html");
  }

  Json points() { return Json::parse(read_file(folder_ / "p.json"))["points"]; }

  // Each run of the page is the point that names it, in cycles, bytes and energy.
  void expect_runs_of_points(const Json& data) {
    std::size_t found = 0;
    for (const Json& point : data["points"]) {
      if (point["run"].is_null()) continue;
      ++found;
      const Json& run = data["runs"][point["run"].get<std::size_t>()];
      const Json& total = run["run"]["total"];
      EXPECT_EQ(run["label"], point["label"]);
      EXPECT_EQ(total["cycles"], point["cycles"]);
      EXPECT_EQ(total["dram_read_bytes"].get<std::uint64_t>() +
                    total["dram_write_bytes"].get<std::uint64_t>(),
                point["dram_bytes"]);
      if (!point["energy"].is_null()) {
        EXPECT_EQ(total["energy"], point["energy"]);
      }
      EXPECT_EQ(run["area_mm2"], point["area_mm2"]);
      EXPECT_TRUE(run["run"]["layers"][0].contains("bounds"));
      EXPECT_FALSE(run["timeline"].is_null());
    }
    EXPECT_EQ(found, data["runs"].size());
  }
};

TEST_F(ProfileReport, HasThePointsOfTheJsonAndTheWinnerFirst) {
  const Json data =
      page("--config pe4x4,pe16x16 --energy horowitz-45nm --objective energy --set bus_bytes=8,16");
  const Json all = points();
  ASSERT_EQ(data["points"].size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(data["points"][i]["cycles"], all[i]["total"]["cycles"]);
    EXPECT_EQ(data["points"][i]["energy"], all[i]["total"]["energy"]);
    EXPECT_EQ(data["points"][i]["pareto_front"], all[i]["pareto_front"]);
    EXPECT_EQ(data["points"][i]["area_mm2"], all[i]["area_mm2"]);
    EXPECT_GT(data["points"][i]["area_mm2"], 0);
  }
  expect_runs_of_points(data);
  const Json winner = Json::parse(read_file(folder_ / "p.json"))["winners"][0];
  EXPECT_EQ(data["points"][winner["point"].get<std::size_t>()]["run"], 0);
  EXPECT_EQ(data["runs"][0]["run"]["provenance"]["model"], "s.yaml");
  EXPECT_EQ(data["runs"][0]["run"]["provenance"]["model_hash"].get<std::string>().substr(0, 8),
            "fnv1a64:");
}

TEST_F(ProfileReport, HasAtMostTwelvePointsInDetailAndOfEqualOnesOne) {
  const Json many = page("--set bus_bytes=4,8,16,32,64 --set dram_latency_cycles=10,20,30");
  EXPECT_EQ(many["points"].size(), 60U);
  EXPECT_EQ(many["runs"].size(), 12U);
  expect_runs_of_points(many);
  const Json flows = page("--dataflow ws,auto");
  const Json all = points();
  const bool is_ws = all[0]["layers"][0]["dataflow"] == all[1]["layers"][0]["dataflow"] &&
                     all[0]["layers"][1]["dataflow"] == all[1]["layers"][1]["dataflow"];
  EXPECT_EQ(flows["runs"].size(), is_ws ? 1U : 2U);
}

TEST_F(ProfileReport, HasTheLayersOfATopologyOneAfterTheOther) {
  folder_.write("net.csv",
                "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
                "Filter, Strides,\nfirst, 18, 14, 3, 3, 20, 24, 1,\nsecond, 9, 9, 3, 3, 4, 40, "
                "2,\n");
  const Json data = page(
      "--model net.csv --dataflow ws,os --energy eyeriss-65nm "
      "--mapping-search full");
  ASSERT_EQ(data["runs"].size(), 4U);
  EXPECT_EQ(data["profile"]["winners"].size(), 2U);
  expect_runs_of_points(data);
}

TEST_F(ProfileReport, OfAResumedProfileIsThatOfAWholeOne) {
  const std::string arguments = "--mapping-search full --slack 0 --set bus_bytes=8,16";
  Json whole = page(arguments);
  page(arguments + " --resume kept");
  Json resumed = page(arguments + " --resume kept");
  for (Json* data : {&whole, &resumed}) {
    for (Json& run : (*data)["runs"]) erase_times(run["run"]);
  }
  EXPECT_EQ(whole, resumed);
}

// The searches of such points end where the time is over, so they are not done again: another
// search would seldom end with the same mapping, and the page would lose the point.
TEST_F(ProfileReport, HasTheMappingsThatABudgetChose) {
  std::string layers;
  for (int i = 1; i <= 6; ++i) {
    layers += "  - {op: conv2d, name: c" + std::to_string(i) +
              ", out_channels: " + std::to_string(90 + 37 * i) + ", kernel: 3, pad: 1}\n";
  }
  folder_.write(
      "s.yaml",
      "name: s\nseed: 3\ninput: {shape: [1, 40, 44, 70], dtype: int8}\nlayers:\n" + layers);
  const Json data = page(
      "--mapping-search full --mapping-budget 0.3 --dataflow ws,os,is "
      "--set bus_bytes=8,16");
  EXPECT_EQ(data["runs"].size(), 6U);
  expect_runs_of_points(data);
}

TEST_F(ProfileReport, IsNotWrittenWhereNoPointRuns) {
  const Outcome outcome = run("--set array_rows=12 --report p.html");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_FALSE(fs::exists(folder_ / "p.html"));
}

TEST_F(ProfileReport, IsRefusedBeforeTheWork) {
  fs::remove(folder_ / "app/bin/charts/vega.js");
  const Outcome outcome = run("--report p.html --json p.json");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("bin/charts/vega.js is not there; `./dev build` gets it from PyPI"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "p.json"));
  expect_error(folder_, "profile --model s.yaml --report -", 2,
               "--report: expected a file; - is not stdout here, and a file of that name is ./-");
  expect_error(folder_, "profile --model s.yaml --report x --csv x", 2,
               "--report and --csv would both write 'x'");
  expect_error(folder_, "profile --model s.yaml --report s.yaml", 2,
               "--report would overwrite 's.yaml'");
  expect_error(folder_, "profile --model s.yaml --report none/p.html", 3, "none/p.html");
}

}  // namespace
}  // namespace qsim
