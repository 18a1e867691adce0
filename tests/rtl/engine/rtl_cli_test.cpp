// The RTL engine through the command line: the shipped network, random layers, traces, doctor.
#include <cstdint>

#include <fstapi.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"
#include "tests/rtl/engine/rtl_support.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

const std::string kHand = "--config '" QSIM_SOURCE_DIR "/tests/rtl/engine/hand.yaml' ";
constexpr const char* kSmall =
    "name: small\nseed: 4\ninput: {shape: [1, 9, 11, 6], dtype: int8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 8, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: conv2d, name: second, out_channels: 5, kernel: 2, stride: 2}\n";

void expect_usage_error(const std::string& arguments, const std::string& part) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  expect_contains(outcome.err, part);
}

void expect_equal_bytes_and_cycles(const std::string& arguments, std::int64_t least_commands) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "verify --json - --quiet " + arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["mismatches"], 0);
  EXPECT_EQ(json["time_mismatches"], 0);
  EXPECT_GE(json["timed_commands"], least_commands);
  EXPECT_EQ(json["cycles"][0]["engines"], "rtl against systemc");
}

TEST(RtlCommandLine, TheShippedNetworkHasGoldensBytesAndTheModelsCyclesInEveryCommand) {
  QSIM_NEEDS_RTL_MODELS();
  expect_equal_bytes_and_cycles("--engines rtl,systemc --config pe16x16", 700);
  expect_equal_bytes_and_cycles("--engines systemc,rtl --config pe16x32", 500);
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
  replace(".done_mask_o(done_masks[16*qsim_pkg::UnitPost +: 16])", ".done_mask_o(post_mask)");
  replace("  localparam int unsigned QueueDepth",
          "  logic post_done, post_done_q;\n  logic [15:0] post_mask, post_mask_q;\n"
          "  localparam int unsigned QueueDepth");
  replace("endmodule",
          "  always_ff @(posedge clk_i) begin\n"
          "    post_done_q <= post_done;\n    post_mask_q <= post_mask;\n  end\n"
          "  assign done[qsim_pkg::UnitPost] = post_done_q;\n"
          "  assign done_masks[16*qsim_pkg::UnitPost +: 16] = post_mask_q;\nendmodule");
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

struct FstFacts {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t signals = 0;
  std::uint64_t changes = 0;
  std::uint64_t earliest = UINT64_MAX;
  std::uint64_t latest = 0;
};

void count_change(void* data, std::uint64_t time, fstHandle, const unsigned char*) {
  FstFacts& facts = *static_cast<FstFacts*>(data);
  ++facts.changes;
  facts.earliest = std::min(facts.earliest, time);
  facts.latest = std::max(facts.latest, time);
}

FstFacts read_fst(const std::string& path) {
  FstFacts facts;
  void* reader = fstReaderOpen(path.c_str());
  if (reader == nullptr) {
    ADD_FAILURE() << path << " is no FST file";
    return facts;
  }
  facts.start = fstReaderGetStartTime(reader);
  facts.end = fstReaderGetEndTime(reader);
  facts.signals = fstReaderGetVarCount(reader);
  EXPECT_EQ(fstReaderGetTimescale(reader), -12);  // ps
  fstReaderSetFacProcessMaskAll(reader);
  fstReaderIterBlocks(reader, count_change, &facts, nullptr);
  fstReaderClose(reader);
  return facts;
}

TEST(RtlCommandLine, ATraceHoldsTheWindowThatWasAskedForAndNothingElse) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const Outcome outcome =
      run_qsim(folder, kHand +
                           "run --engine rtl --model small.yaml --trace out.fst "
                           "--trace-window 200:260");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const FstFacts facts = read_fst((folder / "out.fst").string());
  EXPECT_EQ(facts.start, 200'000u);  // ps: cycle c begins at c ns
  EXPECT_EQ(facts.end, 259'500u);
  EXPECT_EQ(facts.earliest, 200'000u);
  EXPECT_EQ(facts.latest, 259'500u);
  EXPECT_GT(facts.signals, 100u);
  EXPECT_GT(facts.changes, 120u);  // the clock alone
  const Outcome whole =
      run_qsim(folder, kHand + "run --engine rtl --model small.yaml --trace all.fst");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const FstFacts all = read_fst((folder / "all.fst").string());
  EXPECT_EQ(all.start, 0u);
  EXPECT_GT(all.changes, facts.changes * 10);
}

TEST(RtlCommandLine, AWindowBehindTheRunsEndIsAnErrorWhichSaysHowLongTheRunIs) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const std::string run = kHand + "run --engine rtl --model small.yaml --json out.json ";
  ASSERT_EQ(run_qsim(folder, run).exit_code, 0);
  const std::int64_t cycles = Json::parse(read_file(folder / "out.json"))["total"]["cycles"];
  const auto traced_from = [&](std::int64_t first) {
    return run_qsim(folder, run + "--trace out.fst --trace-window " + std::to_string(first) + ":" +
                                std::to_string(first + 100));
  };
  EXPECT_EQ(traced_from(cycles).exit_code, 0);
  EXPECT_EQ(read_fst((folder / "out.fst").string()).earliest, 1000 * std::uint64_t(cycles));
  const Outcome late = traced_from(cycles + 1);
  EXPECT_EQ(late.exit_code, 3);
  expect_contains(late.err, "--trace-window: the run has " + std::to_string(cycles) + " cycles; ");
  expect_contains(late.err, " is empty");
}

TEST(RtlCommandLine, VerifyingTheRtlAloneSaysThatItsCyclesAreNotCompared) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const std::string verify = kHand + "verify --model small.yaml --engines ";
  for (const char* engines : {"rtl", "rtl,interpreter"}) {
    const Outcome outcome = run_qsim(folder, verify + engines);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_contains(outcome.out, " 0 mismatches; cycles: not compared (needs systemc)\n");
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

TEST(RtlCommandLine, OptionsThatDoNotGoTogetherAreRefused) {
  expect_usage_error("run --trace out.fst", "--trace needs --engine rtl");
  expect_usage_error("run --engine rtl --trace-window 1:2", "--trace-window needs --trace");
  for (const char* window : {"5", "5:", ":5", "5:5", "6:5", "a:b", "1:2:3", "-1:2"}) {
    expect_usage_error("run --engine rtl --trace out.fst --trace-window=" + std::string(window),
                       "--trace-window: found '" + std::string(window) + "'; allowed: A:B");
  }
  expect_usage_error("run --engine rtl --no-data", "--no-data excludes --engine rtl");
}

TEST(RtlCommandLine, ATraceThatCannotBeWrittenIsAnErrorBeforeTheRun) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "run --engine rtl --trace /proc/no/out.fst");
  EXPECT_EQ(outcome.exit_code, 3);
  expect_contains(outcome.err, "/proc/no");
}

TEST(RtlCommandLine, ATraceThatTheDiskCutsShortIsAnError) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const Outcome outcome =
      run_qsim(folder, kHand + "run --engine rtl --model small.yaml --trace t.fst",
               "trap '' XFSZ && ulimit -f 128 &&");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  expect_contains(outcome.err,
                  "t.fst: cannot be written: the trace is not whole; is the disk full?");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.fst"));
}

// The writer maps its files; without room for a page that is SIGBUS.
TEST(RtlCommandLine, ATraceWithoutRoomForItsPagesLeavesNothing) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  folder.write("t.fst", "older");
  for (const char* kib : {"1", "16"}) {
    const Outcome outcome =
        run_qsim(folder, kHand + "run --engine rtl --model small.yaml --trace t.fst",
                 std::string("ulimit -f ") + kib + " &&");
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    expect_contains(outcome.err, "t.fst: cannot be written: the trace is not whole");
    EXPECT_EQ(read_file(folder / "t.fst"), "older");
    const std::filesystem::directory_iterator files(folder.path());
    EXPECT_EQ(std::distance(files, std::filesystem::directory_iterator()), 2);
  }
}

TEST(RtlCommandLine, WithoutVerilatorAConfigurationThatIsNotBuiltSaysWhatToInstall) {
  const TestFolder folder;
  folder.write("odd.yaml", "name: odd\nburst_beats: 23\n");
  const Outcome outcome = run_qsim(folder, "run --engine rtl --config odd.yaml --model fc",
                                   "env PATH=/nowhere QSIM_CACHE=cache");
  EXPECT_EQ(outcome.exit_code, 3);
  expect_contains(outcome.err, "'verilator' to build it is not found; install it");
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
  EXPECT_EQ(json["engines"], "systemc, interpreter, rtl");
  EXPECT_EQ(json["rtl_models"], "/c/rtl");
  EXPECT_EQ(json["fine"], true);  // without Verilator everything else works
  expect_contains(json["verilator"], "not found");
  expect_contains(json["clang++"], "apt-get install clang");
  expect_contains(json["rtl_sources"], "rtl");
}

}  // namespace
}  // namespace qsim
