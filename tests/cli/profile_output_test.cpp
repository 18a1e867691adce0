// `qsim profile`: points that do not run, any number of threads, and CSV.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/small_network.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

TEST(ProfileOutput, AConfigurationThatCannotRunIsARowWithItsReason) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Outcome outcome =
      run_qsim(folder, "profile --model n.yaml --set array_rows=12,16 --dataflow ws --json p.json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\ndoes not run\n  n.yaml on pe16x16, array_rows 12, ws: config "
                             "'pe16x16': array_rows is 12; allowed: a power of two from 4 to 256"),
            std::string::npos)
      << outcome.out;
  const Json profile = Json::parse(read_file(folder / "p.json"));
  EXPECT_EQ(
      profile["points"][0]["error"],
      "config 'pe16x16': array_rows is 12; allowed: a power of two from 4 to 256, since words "
      "and bursts are cut by shifts (docs/reference/config.md)");
  EXPECT_TRUE(profile["points"][1]["error"].is_null());
  EXPECT_EQ(profile["winners"][0]["point"], 1);
}

TEST(ProfileOutput, WhereNothingCanRunTheFirstReasonIsTheError) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Outcome outcome = run_qsim(folder, "profile --model n.yaml --set array_rows=12 --quiet");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.err.rfind("qsim: error: none of 4 points can run; the first: n.yaml on "
                              "pe16x16, array_rows 12, ws: config 'pe16x16': array_rows is 12",
                              0),
            0u)
      << outcome.err;
}

TEST(ProfileOutput, TheResultDoesNotDependOnTheNumberOfJobs) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const std::string arguments = "profile --model n.yaml --set bus_bytes=4,8,16,32 --jobs ";
  Json one = quiet_json_of(folder, arguments + "1");
  Json many = quiet_json_of(folder, arguments + "7");
  one["provenance"].erase("argv");
  many["provenance"].erase("argv");
  EXPECT_EQ(one, many);
}

TEST(ProfileOutput, AModelWhoseValuesTheCompilerRefusesIsRefused) {
  const TestFolder folder;
  folder.write("n.yaml", std::string(kSmallNetwork)
                             .replace(std::string(kSmallNetwork).find("kernel: 1}"), 10,
                                      "kernel: 1, rounding: half_away}"));
  const Outcome outcome = run_qsim(folder, "profile --model n.yaml --quiet");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("rounding mode half_away; the accelerator has"), std::string::npos)
      << outcome.err;
}

TEST(ProfileOutput, CsvGoesToAFileOrToStdout) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const Outcome table = run_qsim(folder, "profile --model n.yaml --csv p.csv");
  EXPECT_NE(table.out.find("winner for n.yaml"), std::string::npos) << table.out;
  const Outcome csv = run_qsim(folder, "profile --model n.yaml --csv -");
  EXPECT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_EQ(csv.out, read_file(folder / "p.csv"));
  EXPECT_EQ(csv.out.rfind("model,config,asked_dataflow,layer,", 0), 0u) << csv.out;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 4 * 3);
}

TEST(ProfileOutput, CsvInScaleSimsColumnsAddsUpToTheRun) {
  const TestFolder folder;
  folder.write("n.yaml", kSmallNetwork);
  const std::string arguments = "profile --model n.yaml --dataflow is --csv p.csv --csv-columns ";
  const Json profile = quiet_json_of(folder, arguments + "scalesim-access");
  const std::string text = read_file(folder / "p.csv");
  EXPECT_EQ(text.rfind("LayerID, SRAM IFMAP Start Cycle, ", 0), 0u) << text;
  std::uint64_t written = 0;
  for (const Json& layer : profile["points"][0]["layers"]) {
    const Json& accesses = layer["accesses"];
    EXPECT_LT(accesses["dram_ofmap"]["last_cycle"], layer["cycles"]);
    written += accesses["dram_ofmap"]["elems"].get<std::uint64_t>();
  }
  EXPECT_EQ(written, profile["points"][0]["total"]["dram_write_bytes"]);
  for (const char* columns : {"scalesim-compute", "scalesim-bandwidth"}) {
    quiet_json_of(folder, arguments + columns);
    EXPECT_EQ(read_file(folder / "p.csv").rfind("LayerID, ", 0), 0u);
  }
}

}  // namespace
}  // namespace qsim
