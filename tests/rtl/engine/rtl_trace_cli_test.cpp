// `qsim run --engine rtl --trace`: what the FST file holds, and what is refused.
#include <algorithm>
#include <cstdint>

#include <fstapi.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"
#include "tests/rtl/engine/rtl_cli.h"
#include "tests/rtl/engine/rtl_support.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

void expect_usage_error(const std::string& arguments, const std::string& part) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  expect_contains(outcome.err, part);
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

TEST(RtlTraceCommandLine, ATraceHoldsTheWindowThatWasAskedForAndNothingElse) {
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

TEST(RtlTraceCommandLine, AWindowBehindTheRunsEndIsAnErrorWhichSaysHowLongTheRunIs) {
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

// The trace of commands has the times of the hardware, which are those of the recurrence.
TEST(RtlTraceCommandLine, ATraceOfCommandsIsThatOfTheRecurrence) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const auto bytes_of = [&](const std::string& engine, const std::string& options) {
    const Outcome outcome = run_qsim(folder, kHand + "run --engine " + engine + options +
                                                 " --model small.yaml --trace t.perfetto-trace");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string bytes = read_file(folder / "t.perfetto-trace");
    const std::size_t name = bytes.find(", " + engine);
    EXPECT_NE(name, std::string::npos);
    return bytes.substr(name + 2 + engine.size());
  };
  const std::string measured = bytes_of("rtl", "");
  EXPECT_GT(measured.size(), 1000u);
  EXPECT_EQ(measured, bytes_of("recurrence", " --no-data"));
}

TEST(RtlTraceCommandLine, OptionsThatDoNotGoTogetherAreRefused) {
  expect_usage_error("run --trace out.fst", "--trace needs --engine rtl");
  expect_usage_error("run --engine rtl --trace-window 1:2", "--trace-window needs --trace");
  for (const char* window : {"5", "5:", ":5", "5:5", "6:5", "a:b", "1:2:3", "-1:2"}) {
    expect_usage_error("run --engine rtl --trace out.fst --trace-window=" + std::string(window),
                       "--trace-window: found '" + std::string(window) + "'; allowed: A:B");
  }
  expect_usage_error("run --engine rtl --no-data", "--no-data does not work with --engine rtl");
}

TEST(RtlTraceCommandLine, ATraceThatCannotBeWrittenIsAnErrorBeforeTheRun) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "run --engine rtl --trace /proc/no/out.fst");
  EXPECT_EQ(outcome.exit_code, 3);
  expect_contains(outcome.err, "/proc/no");
}

TEST(RtlTraceCommandLine, ATraceThatTheDiskCutsShortIsAnError) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const Outcome outcome =
      run_qsim(folder, kHand + "run --engine rtl --model small.yaml --trace t.fst",
               "trap '' XFSZ && ulimit -f 128 &&");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  expect_contains(outcome.err,
                  "t.fst: cannot be written: the trace is incomplete; is the disk full?");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.fst"));
}

// The writer maps its files; without room for a page that is SIGBUS.
TEST(RtlTraceCommandLine, ATraceWithoutRoomForItsPagesLeavesNothing) {
  QSIM_NEEDS_RTL_MODELS();
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  folder.write("t.fst", "older");
  for (const char* kib : {"1", "16"}) {
    const Outcome outcome =
        run_qsim(folder, kHand + "run --engine rtl --model small.yaml --trace t.fst",
                 std::string("ulimit -f ") + kib + " &&");
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    expect_contains(outcome.err, "t.fst: cannot be written: the trace is incomplete");
    EXPECT_EQ(read_file(folder / "t.fst"), "older");
    const std::filesystem::directory_iterator files(folder.path());
    EXPECT_EQ(std::distance(files, std::filesystem::directory_iterator()), 2);
  }
}

}  // namespace
}  // namespace qsim
