// report/perfetto/run_trace.h: the slices are the commands, the waits are those of the accounts,
// and windows cut a trace into parts that add up.
#include "report/perfetto/run_trace.h"

#include <map>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "sim/recurrence/program_times.h"
#include "tests/report/perfetto/trace_reader.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

struct TracedRun {
  Program program;
  CommandTimes times;
  RunAccount run;

  ReadTrace trace(const CycleWindow& window = {}) const {
    std::string bytes;
    TraceWriter writer([&](std::string_view part) { bytes += part; });
    trace_run({"a run", "", program, times, run}, window, writer);
    writer.finish();
    return read_trace(bytes);
  }
};

TracedRun timed(Program program) {
  TracedRun c{std::move(program), {}, {}};
  c.times = command_times(c.program);
  c.run = account(c.program, c.times);
  return c;
}

TracedRun sample() {
  TracedRun c{sample_program(), sample_result().times, {}};
  c.run = account(c.program, c.times);
  return c;
}

TracedRun random_case(std::uint64_t seed) {
  Random random(seed);
  const char* configs[] = {"configs/pe4x4.yaml", "configs/pe8x8.yaml", "configs/pe16x32.yaml"};
  const ArchConfig arch = shrink_memories(load_arch_config(configs[seed % 3]), random);
  return timed(compile(make_random_layer(seed, arch).graph, arch));
}

std::vector<std::string> tracks_of(std::size_t unit) {
  if (unit == 0) return {"load activations", "load weights", "load parameters"};
  return {std::string(kUnitNames.at(unit))};
}

const ReadSlice& slice_at(const ReadTrace& trace, const std::string& track, std::uint64_t begin) {
  for (const ReadSlice& slice : trace.slices) {
    if (slice.track == track && slice.begin == begin) return slice;
  }
  throw std::runtime_error("no slice of " + track + " begins at " + std::to_string(begin));
}

std::int64_t sum_of(const std::vector<ReadCount>& counts) {
  std::int64_t sum = 0;
  for (const ReadCount& count : counts) sum += count.value;
  return sum;
}

TEST(RunTrace, OfTheSampleHasTheSlicesThatAreWorkedOutByHand) {
  const ReadTrace trace = sample().trace();
  EXPECT_EQ(trace.tracks,
            (std::vector<std::string>{"layers", "load activations", "load weights",
                                      "load parameters", "load waits", "execute", "execute waits",
                                      "post", "post waits", "store", "store waits", "DRAM read",
                                      "DRAM written", "activation scratchpad", "weight scratchpad",
                                      "accumulator", "output scratchpad"}));
  EXPECT_EQ(slice_at(trace, "layers", 0).end, 100u);
  EXPECT_EQ(slice_at(trace, "layers", 0).name, "conv1");
  EXPECT_EQ(slice_at(trace, "layers", 100).end, 190u);
  EXPECT_EQ(slice_at(trace, "layers", 100).args.at("macs"), "120");
  const ReadSlice& execute = slice_at(trace, "execute", 122);
  EXPECT_EQ(execute.end, 142u);
  EXPECT_EQ(execute.name, "fc, last");
  EXPECT_EQ(execute.args.at("command"), "1");
  EXPECT_EQ(execute.args.at("done"), "160");
  EXPECT_EQ(execute.args.at("planes"), "5");
  EXPECT_EQ(execute.args.at("waited_for"), "act_ready");
  EXPECT_EQ(execute.args.at("waited_cycles"), "62");  // 60 to 122
  const ReadSlice& wait = slice_at(trace, "execute waits", 60);
  EXPECT_EQ(wait.end, 122u);
  EXPECT_EQ(wait.name, "act_ready");
  EXPECT_EQ(wait.args.at("ended_by"), "load command 1");
  const ReadSlice& load = slice_at(trace, "load activations", 100);
  EXPECT_EQ(load.args.at("bytes"), "8");
  ASSERT_EQ(load.leave.size(), 1u);
  EXPECT_EQ(load.leave, execute.reach);
  EXPECT_EQ(sum_of(trace.counters.at("DRAM read")), 48);
  EXPECT_EQ(trace.counter_units.at("DRAM read"), "bytes in 64 cycles");
  EXPECT_EQ(trace.counters.at("DRAM written"),
            (std::vector<ReadCount>{{0, 0}, {64, 40}, {128, 8}, {190, 0}}));
}

TEST(RunTrace, SlicesAddUpToTheAccountsOfTheRun) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TracedRun c = random_case(seed);
    const ReadTrace trace = c.trace();
    std::uint64_t commands = 0;
    for (std::size_t u = 0; u < kUnits; ++u) {
      std::uint64_t busy = 0;
      for (const std::string& track : tracks_of(u)) busy += trace.cycles_on(track);
      EXPECT_EQ(busy, c.run.units[u].busy_cycles);
      for (std::size_t s = 0; s < kStallCauses; ++s) {
        if (s != kSwitchStall && c.program.semaphores[s].name.empty()) continue;
        EXPECT_EQ(trace.cycles_on(std::string(kUnitNames[u]) + " waits", stall_name(c.program, s)),
                  c.run.units[u].stall_cycles[s]);
      }
      commands += c.program.streams[u].size();
    }
    std::uint64_t slices = 0;
    std::map<std::uint64_t, int> arrow_ends;
    for (const ReadSlice& slice : trace.slices) {
      slices += slice.category != "wait" && slice.category != "layer";
      for (const std::uint64_t arrow : slice.leave) arrow_ends[arrow] += 1;
      for (const std::uint64_t arrow : slice.reach) arrow_ends[arrow] += 100;
      EXPECT_EQ(slice.reach.size(), slice.args.count("waited_for"));
    }
    for (const auto& [arrow, ends] : arrow_ends) EXPECT_EQ(ends, 101) << arrow;
    EXPECT_EQ(slices, commands);
    EXPECT_EQ(sum_of(trace.counters.at("DRAM read")), std::int64_t(c.run.dram_read_bytes));
    EXPECT_EQ(sum_of(trace.counters.at("DRAM written")), std::int64_t(c.run.dram_write_bytes));
  }
}

TEST(RunTrace, EveryCommandHasItsFieldsAndTimes) {
  const TracedRun c = random_case(5);
  const ReadTrace trace = c.trace();
  std::map<std::pair<std::string, std::string>, const ReadSlice*> slices;
  for (const ReadSlice& slice : trace.slices) {
    if (slice.category == "wait" || slice.category == "layer") continue;
    slices[{slice.category, slice.args.at("command")}] = &slice;
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t i = 0; i < c.program.streams[u].size(); ++i) {
      const ReadSlice& slice = *slices.at({std::string(kUnitNames[u]), std::to_string(i)});
      const CommandTime& time = c.times[u][i];
      const Command command = c.program.streams[u].command(i);
      EXPECT_EQ(slice.begin, time.start);
      EXPECT_EQ(slice.end, time.free);
      EXPECT_EQ(slice.args.at("done"), std::to_string(time.done));
      EXPECT_EQ(slice.args.at("origin"), origin_text(c.program, c.program.streams[u].origin(i)));
      const auto fields = command_fields(command.unit());
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const std::int64_t value = field_value(command, f);
        if (fields[f].is_optional && value == 0) continue;
        EXPECT_EQ(slice.args.at(std::string(fields[f].name)), std::to_string(value));
      }
    }
  }
}

TEST(RunTrace, WindowsAddUpToTheWhole) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TracedRun c = random_case(seed);
    const ReadTrace whole = c.trace();
    const std::uint64_t total = c.run.total_cycles;
    std::map<std::string, std::uint64_t> cycles;
    std::int64_t bytes = 0;
    const std::vector<std::uint64_t> cuts = {0, total / 3, total / 3 + 1, total / 2, total + 50};
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const ReadTrace part = c.trace({cuts[i], cuts[i + 1]});
      for (const ReadSlice& slice : part.slices) {
        EXPECT_GE(slice.begin, cuts[i]);
        EXPECT_LE(slice.end, cuts[i + 1]);
        cycles[slice.track] += slice.cycles();
      }
      bytes += sum_of(part.counters.at("DRAM read"));
    }
    for (const std::string& track : whole.tracks) EXPECT_EQ(cycles[track], whole.cycles_on(track));
    EXPECT_EQ(bytes, std::int64_t(c.run.dram_read_bytes));
  }
}

TEST(RunTrace, AWindowInTheMiddleBeginsWithTheLevelsBeforeIt) {
  const TracedRun c = random_case(4);
  const ReadTrace whole = c.trace();
  const std::uint64_t middle = c.run.total_cycles / 2;
  const ReadTrace part = c.trace({middle, c.run.total_cycles});
  for (const char* memory : {"activation scratchpad", "weight scratchpad", "accumulator"}) {
    std::int64_t level = 0;
    for (const ReadCount& count : whole.counters.at(memory)) {
      if (count.time <= middle) level = count.value;
    }
    EXPECT_EQ(part.counters.at(memory).front(), (ReadCount{middle, level})) << memory;
  }
}

TEST(RunTrace, AWindowAfterTheRunHoldsNothing) {
  const TracedRun c = sample();
  const ReadTrace trace = c.trace({c.run.total_cycles, c.run.total_cycles + 10});
  EXPECT_TRUE(trace.slices.empty());
  EXPECT_TRUE(trace.counters.empty());
}

TEST(RunTrace, TheWindowOfALayerIsFromItsFirstStartToItsLastFree) {
  const TracedRun c = sample();
  const CycleWindow first = window_of_layers(c.program, c.times, 0, 0);
  EXPECT_EQ(first.first, 0u);
  EXPECT_EQ(first.last, 97u);
  const CycleWindow second = window_of_layers(c.program, c.times, 1, 1);
  EXPECT_EQ(second.first, 100u);
  EXPECT_EQ(second.last, 170u);
  const CycleWindow both = window_of_layers(c.program, c.times, 0, 1);
  EXPECT_EQ(both.first, 0u);
  EXPECT_EQ(both.last, 170u);
}

TEST(RunTrace, NamesThatALineCannotShowAreEscaped) {
  TracedRun c = sample();
  c.program.layers[0].name = "bad\xff\x01name";
  const ReadTrace trace = c.trace();
  EXPECT_EQ(slice_at(trace, "execute", 30).name, "bad\\xff\\x01name");
}

}  // namespace
}  // namespace qsim
