// `qsim run --trace FILE.perfetto-trace`: equal for every engine with times, and as the JSON says.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/small_network.h"
#include "tests/report/perfetto/trace_reader.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

const std::string kThreeLayers =
    std::string(kSmallNetwork) + "  - {op: conv2d, name: a..b, out_channels: 8, kernel: 1}\n";
const std::string kRun = "run --model n.yaml --config pe8x8 --quiet ";

ReadTrace traced(const TestFolder& folder, const std::string& arguments) {
  folder.write("n.yaml", kThreeLayers);
  const Outcome outcome =
      run_qsim(folder, kRun + "--trace t.perfetto-trace --json run.json " + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return read_trace(read_file(folder / "t.perfetto-trace"));
}

// The bytes, without the name of the engine.
std::string bytes_from(const TestFolder& folder, const std::string& engine,
                       const std::string& options) {
  traced(folder, "--engine " + engine + options);
  std::string bytes = read_file(folder / "t.perfetto-trace");
  const std::size_t name = bytes.find(engine);
  EXPECT_NE(name, std::string::npos);
  return bytes.substr(name + engine.size());
}

TEST(CommandTrace, OfSystemcAndOfTheRecurrenceAreTheSame) {
  const TestFolder folder;
  const std::string simulated = bytes_from(folder, "systemc", "");
  EXPECT_GT(simulated.size(), 1000u);
  EXPECT_EQ(simulated, bytes_from(folder, "recurrence", " --no-data"));
  EXPECT_EQ(simulated, bytes_from(folder, "systemc", " --no-data"));
}

TEST(CommandTrace, AddsUpToTheJson) {
  const TestFolder folder;
  for (const std::string dataflow : {"ws", "os", "is"}) {
    SCOPED_TRACE(dataflow);
    const ReadTrace trace = traced(folder, "--no-data --dataflow " + dataflow);
    const Json run = Json::parse(read_file(folder / "run.json"));
    EXPECT_EQ(trace.group, "small on pe8x8, systemc");
    for (const auto& [name, unit] : run["total"]["units"].items()) {
      const std::uint64_t busy = name != "load" ? trace.cycles_on(name)
                                                : trace.cycles_on("load activations") +
                                                      trace.cycles_on("load weights") +
                                                      trace.cycles_on("load parameters");
      EXPECT_EQ(busy, unit["busy_cycles"].get<std::uint64_t>()) << name;
      if (name == "execute") continue;  // its stalls at the edges of layers have other names there
      std::uint64_t stalls = 0;
      for (const auto& [semaphore, cycles] : unit["stalls"].items()) {
        EXPECT_EQ(trace.cycles_on(name + " waits", semaphore), cycles.get<std::uint64_t>()) << name;
        stalls += cycles.get<std::uint64_t>();
      }
      EXPECT_EQ(trace.cycles_on(name + " waits"), stalls) << name;
    }
    std::uint64_t layers = 0;
    for (const Json& layer : run["layers"]) {
      EXPECT_EQ(trace.cycles_on("layers", layer["name"].get<std::string>()),
                layer["cycles"].get<std::uint64_t>());
      ++layers;
    }
    EXPECT_EQ(layers, 3u);
    std::int64_t bytes = 0;
    for (const ReadCount& count : trace.counters.at("DRAM read")) bytes += count.value;
    EXPECT_EQ(bytes, run["total"]["dram_read_bytes"].get<std::int64_t>());
    for (const ReadSlice& slice : trace.slices) {
      if (slice.track != "layers") continue;
      const Json& layer = run["layers"][slice.name == "first" ? 0 : slice.name == "wide" ? 1 : 2];
      EXPECT_EQ(slice.args.at("dataflow"), layer["dataflow"].get<std::string>());
      EXPECT_EQ(slice.args.at("limited_by"), layer["limited_by"].get<std::string>());
      EXPECT_EQ(slice.args.at("macs"), std::to_string(layer["macs"].get<std::int64_t>()));
    }
  }
}

TEST(CommandTrace, WindowOfCyclesHoldsThemAlone) {
  const TestFolder folder;
  const ReadTrace trace = traced(folder, "--no-data --trace-window 1000:1500");
  ASSERT_FALSE(trace.slices.empty());
  for (const ReadSlice& slice : trace.slices) {
    EXPECT_GE(slice.begin, 1000u);
    EXPECT_LE(slice.end, 1500u);
  }
  for (const auto& [name, counts] : trace.counters) {
    EXPECT_EQ(counts.front().time, 1000u) << name;
    EXPECT_EQ(counts.back(), (ReadCount{1500, 0})) << name;
  }
}

TEST(CommandTrace, WindowOfLayersHoldsAllTheirCommands) {
  const TestFolder folder;
  const ReadTrace whole = traced(folder, "--no-data");
  const auto busy = [](const ReadTrace& trace, const std::string& layer) {
    std::uint64_t cycles = 0;
    for (const ReadSlice& slice : trace.slices) {
      const bool is_command = slice.category != "wait" && slice.category != "layer";
      if (is_command && slice.name == layer) cycles += slice.cycles();
    }
    return cycles;
  };
  for (const std::string layers : {"wide", "wide..wide", "wide..a..b", "a..b", "a..b..a..b"}) {
    SCOPED_TRACE(layers);
    const ReadTrace part = traced(folder, "--no-data --trace-layers " + layers);
    const bool has_wide = layers.starts_with("wide");
    const bool has_last = layers.ends_with("a..b");
    EXPECT_EQ(busy(part, "wide") == busy(whole, "wide"), has_wide);
    EXPECT_EQ(busy(part, "a..b") == busy(whole, "a..b"), has_last);
    EXPECT_LT(busy(part, "first"), busy(whole, "first"));
  }
  // A layer that runs inside another means that one.
  const ReadTrace fused = traced(folder, "--no-data --trace-layers pool");
  EXPECT_EQ(busy(fused, "first"), busy(whole, "first"));
  EXPECT_LT(busy(fused, "wide"), busy(whole, "wide"));
}

TEST(CommandTrace, PftraceIsTheSameFile) {
  const TestFolder folder;
  traced(folder, "--no-data");
  const Outcome outcome = run_qsim(folder, kRun + "--no-data --trace t.pftrace");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_file(folder / "t.pftrace"), read_file(folder / "t.perfetto-trace"));
}

TEST(CommandTrace, RefusesLayersThatTheNetworkHasNot) {
  const TestFolder folder;
  folder.write("n.yaml", kThreeLayers);
  const std::string run = kRun + "--no-data --trace t.pftrace --trace-layers ";
  const std::string names = " Its layers: first, positive, pool, wide, a..b";
  expect_error(folder, run + "firts", 3,
               "--trace-layers 'firts' is not a layer of 'n.yaml'; did you mean 'first'?" + names);
  expect_error(folder, run + "first..wid", 3, "--trace-layers 'wid' is not a layer of 'n.yaml'");
  expect_error(folder, run + "..", 3, "--trace-layers '' is not a layer of 'n.yaml'." + names);
  expect_error(folder, run + "wide..first", 3,
               "--trace-layers: 'first' comes before 'wide'; allowed: FIRST..LAST in the order of");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.pftrace"));
}

TEST(CommandTrace, RefusesOptionsThatDoNotGoTogether) {
  const TestFolder folder;
  folder.write("n.yaml", kThreeLayers);
  expect_error(folder, kRun + "--trace t.fst", 2,
               "--trace needs --engine rtl for signals, or a FILE that ends in .perfetto-trace or "
               ".pftrace for commands");
  expect_error(folder, kRun + "--trace t.pftrace --engine interpreter", 2,
               "--trace does not work with --engine interpreter, which computes data and no times");
  expect_error(folder, kRun + "--trace-layers first", 2, "--trace-layers needs --trace");
  expect_error(folder, kRun + "--engine rtl --trace t.fst --trace-layers first", 2,
               "--trace-layers needs a --trace of the commands");
  expect_error(folder, kRun + "--trace t.pftrace --trace-layers first --trace-window 1:2", 2,
               "--trace-layers and --trace-window both give a window; leave one of them out");
  expect_error(folder, kRun + "--trace t.pftrace --trace-window 2:1", 2,
               "--trace-window: found '2:1'; allowed: A:B");
}

TEST(CommandTrace, AWindowAfterTheRunIsAnError) {
  const TestFolder folder;
  folder.write("n.yaml", kThreeLayers);
  const Outcome outcome = run_qsim(
      folder,
      kRun + "--no-data --json run.json --trace t.pftrace --trace-window 90000000:90000001");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("--trace-window: the run has "), std::string::npos) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "run.json"));
}

TEST(CommandTrace, ThatTheDiskCutsShortIsAnErrorAndLeavesTheOldFile) {
  const TestFolder folder;
  folder.write("n.yaml", kThreeLayers);
  folder.write("t.pftrace", "older");
  const Outcome outcome =
      run_qsim(folder, kRun + "--no-data --trace t.pftrace", "trap '' XFSZ && ulimit -f 16 &&");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("t.pftrace: cannot be written: "), std::string::npos) << outcome.err;
  EXPECT_EQ(read_file(folder / "t.pftrace"), "older");
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(files, std::filesystem::directory_iterator()), 2);
}

}  // namespace
}  // namespace qsim
