// The RTL engine through the command line: the shipped network, random layers, builds, doctor.
#include "tests/rtl/engine/rtl_cli.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"
#include "tests/rtl/engine/rtl_support.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

void expect_equal_bytes_and_cycles(const std::string& arguments, std::int64_t least_commands,
                                   const std::string& engines = "rtl against systemc") {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "verify --json - --quiet " + arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["mismatches"], 0);
  EXPECT_EQ(json["time_mismatches"], 0);
  EXPECT_GE(json["timed_commands"], least_commands);
  EXPECT_EQ(json["cycles"][0]["engines"], engines);
}

TEST(RtlCommandLine, TheShippedNetworkHasGoldensBytesAndTheModelsCyclesInEveryCommand) {
  QSIM_NEEDS_RTL_MODELS();
  expect_equal_bytes_and_cycles("--engines rtl,systemc --config pe16x16", 700);
  expect_equal_bytes_and_cycles("--engines systemc,rtl --config pe16x32", 500);
}

TEST(RtlCommandLine, TheRecurrenceGivesTheHardwaresCyclesInEveryCommand) {
  QSIM_NEEDS_RTL_MODELS();
  const std::string engines = "rtl against recurrence";
  expect_equal_bytes_and_cycles("--engines rtl,recurrence --config pe16x16", 700, engines);
  expect_equal_bytes_and_cycles("--engines recurrence,rtl --seeds 25 --seed 90 --config pe8x8", 600,
                                engines);
}

TEST(RtlCommandLine, RandomLayersHaveGoldensBytesAndTheModelsCyclesInEveryCommand) {
  QSIM_NEEDS_RTL_MODELS();
  expect_equal_bytes_and_cycles("--engines systemc,rtl --seeds 12 --seed 7 --config pe4x4", 300);
  expect_equal_bytes_and_cycles("--engines systemc,rtl --seeds 25 --seed 70 --config pe8x8", 600);
}

TEST(RtlCommandLine, ARunReportsTheHardwaresCyclesAndWhichModelItWas) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const std::string arguments = kHand + "run --model small.yaml --json - --quiet --engine ";
  const Outcome rtl = run_qsim(folder, arguments + "rtl");
  const Outcome systemc = run_qsim(folder, arguments + "systemc");
  ASSERT_EQ(rtl.exit_code, 0) << rtl.err;
  const Json hardware = Json::parse(rtl.out), model = Json::parse(systemc.out);
  EXPECT_EQ(hardware["engine"], "rtl");
  EXPECT_EQ(hardware["total"], model["total"]);
  EXPECT_EQ(hardware["layers"], model["layers"]);
  EXPECT_EQ(hardware["verify"]["mismatches"], 0);
  EXPECT_EQ(hardware["provenance"]["rtl_model"].get<std::string>().rfind("4x4-plain-", 0), 0u);
  EXPECT_FALSE(model["provenance"].contains("rtl_model"));
}

// An installed qsim whose RTL is done with a POST one cycle late: legal, right bytes, other cycles.
void install_with_late_post(const TestFolder& folder) {
  namespace fs = std::filesystem;
  const fs::path share = folder / "share/qsim";
  fs::create_directories(folder / "bin");
  fs::create_directories(share);
  fs::copy(QSIM_EXECUTABLE, folder / "bin/qsim");
  fs::copy(source_folder() / "configs", share / "configs");
  fs::copy(source_folder() / "rtl", share / "rtl", fs::copy_options::recursive);
  const fs::path top = share / "rtl/src/qsim_accelerator.sv";
  std::string text = read_file(top);
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is no longer in the RTL";
    text.replace(at, from.size(), to);
  };
  replace(".done_o(done[qsim_pkg::UnitPost])", ".done_o(post_done)");
  replace(".done_mask_o(done_masks[Semaphores*qsim_pkg::UnitPost +: Semaphores])",
          ".done_mask_o(post_mask)");
  replace("  localparam int unsigned QueueDepth",
          "  logic post_done, post_done_q;\n  logic [15:0] post_mask, post_mask_q;\n"
          "  localparam int unsigned QueueDepth");
  replace(
      "endmodule",
      "  always_ff @(posedge clk_i) begin\n"
      "    post_done_q <= post_done;\n    post_mask_q <= post_mask;\n  end\n"
      "  assign done[qsim_pkg::UnitPost] = post_done_q;\n"
      "  assign done_masks[Semaphores*qsim_pkg::UnitPost +: Semaphores] = post_mask_q;\nendmodule");
  folder.write("share/qsim/rtl/src/qsim_accelerator.sv", text);
}

TEST(RtlCommandLine, ACycleThatDiffersFromTheModelsIsAMismatchWhichNamesTheCommand) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  install_with_late_post(folder);
  folder.write("small.yaml", kSmall);
  const Outcome outcome = run_qsim(folder, "",
                                   "env QSIM_CACHE=cache bin/qsim " + kHand +
                                       "verify --engines systemc,rtl --model small.yaml "
                                       "--json out.json; exit $?; ");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  const Json json = Json::parse(read_file(folder / "out.json"));
  EXPECT_EQ(json["mismatches"], 0);
  EXPECT_GT(json["time_mismatches"], 10);
  expect_contains(json["first_time_divergence"],
                  "rtl against systemc: post command 0 (first tile 0, ");
}

TEST(RtlCommandLine, VerifyingTheRtlAloneSaysThatItsCyclesAreNotCompared) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const std::string verify = kHand + "verify --model small.yaml --engines ";
  for (const char* engines : {"rtl", "rtl,interpreter"}) {
    const Outcome outcome = run_qsim(folder, verify + engines);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_contains(outcome.out,
                    " 0 mismatches; cycles: not compared (needs systemc or recurrence)\n");
  }
  EXPECT_EQ(run_qsim(folder, verify + "rtl,systemc").out.find("not compared"), std::string::npos);
}

TEST(RtlCommandLine, AnInterruptDuringABuildSaysThatAModelWasBeingBuilt) {
  const TestFolder folder;
  folder.write("bin/verilator", "#!/bin/sh\nexec sleep 20\n");
  folder.write("bin/clang++", "#!/bin/sh\n");
  for (const char* name : {"bin/verilator", "bin/clang++"}) {
    std::filesystem::permissions(folder / name, std::filesystem::perms::all);
  }
  folder.write("small.yaml", kSmall);
  for (const char* command : {"run --engine rtl", "verify --engines rtl"}) {
    const Outcome outcome = run_qsim(folder, kHand + command + " --model small.yaml",
                                     "env PATH=\"$PWD/bin:$PATH\" QSIM_CACHE=cache "
                                     "timeout --preserve-status -s INT -k 4 2");
    EXPECT_EQ(outcome.exit_code, 130) << command;
    expect_contains(outcome.err, "interrupted: building an RTL model; kept: nothing");
  }
}

TEST(RtlCommandLine, ACacheThatCannotBeWrittenIsNamedAndNoBuildIsAnnounced) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const Outcome outcome =
      run_qsim(folder, kHand + "run --engine rtl --model small.yaml", "env QSIM_CACHE=/proc/no");
  EXPECT_EQ(outcome.exit_code, 3);
  expect_contains(outcome.err, "/proc/no");
  EXPECT_EQ(outcome.err.find("building"), std::string::npos) << outcome.err;
}

TEST(RtlCommandLine, WithoutVerilatorAConfigurationThatIsNotBuiltSaysWhatToInstall) {
  const TestFolder folder;
  folder.write("odd.yaml", "name: odd\nburst_beats: 23\n");
  const Outcome outcome = run_qsim(folder, "run --engine rtl --config odd.yaml --model fc",
                                   "env PATH=/nowhere QSIM_CACHE=cache");
  EXPECT_EQ(outcome.exit_code, 3);
  expect_contains(outcome.err, "'verilator', which builds it, is not found; install it");
}

TEST(RtlCommandLine, AConfigurationThatIsNotBuiltIsBuiltOnceAndSaysSo) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  folder.write("odd.yaml", "name: odd\narray_rows: 4\narray_cols: 8\nburst_beats: 23\n");
  const std::string arguments =
      "run --engine rtl --config odd.yaml --model small.yaml --json report.json";
  const Outcome first = run_qsim(folder, arguments, "env QSIM_CACHE=cache");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  expect_contains(first.err, "building the RTL model of 'odd' (4x8) with Verilator, once");
  const std::string key = Json::parse(read_file(folder / "report.json"))["provenance"]["rtl_model"];
  EXPECT_TRUE(std::filesystem::exists(folder / "cache/rtl" / (key + ".so"))) << key;
  const Outcome second = run_qsim(folder, arguments, "env PATH=/usr/bin:/bin QSIM_CACHE=cache");
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.err.find("building"), std::string::npos) << second.err;
}

TEST(RtlCommandLine, DoctorSaysWhatTheRtlEngineFinds) {
  const TestFolder folder;
  const Json json =
      Json::parse(run_qsim(folder, "doctor --json -", "env PATH=/nowhere QSIM_CACHE=/c").out);
  EXPECT_EQ(json["engines"], "systemc, interpreter, rtl, recurrence");
  EXPECT_EQ(json["rtl_models"], "/c/rtl");
  EXPECT_EQ(json["fine"], true);  // without Verilator everything else works
  expect_contains(json["verilator"], "not found");
  expect_contains(json["clang++"], "apt-get install clang");
  expect_contains(json["rtl_sources"], "rtl");
}

}  // namespace
}  // namespace qsim
