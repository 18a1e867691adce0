// Every command of whole programs starts, frees its unit and is done in the cycle that the SystemC
// engine gives, which shares no line of code with the recurrence but the terms of EXECUTE and POST.
#include "sim/recurrence/program_times.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/base/error.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "sim/recurrence/recurrence_engine.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/core/program_draft.h"
#include "tests/sim/systemc/hand_program.h"
#include "tests/sim/systemc/random_program.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

// ASSERT_EQ would print half a million commands.
void expect_systemc_times(Engine& systemc, const Program& program, const std::string& what) {
  const auto expected = systemc.run(program, {}, {.move_data = false}).times;
  const auto times = command_times(program);
  for (std::size_t u = 0; u < kUnits; ++u) {
    ASSERT_EQ(times[u].size(), expected[u].size()) << what;
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      ASSERT_EQ(times[u][i].start, expected[u][i].start)
          << what << ", " << kUnitNames[u] << " " << i;
      ASSERT_EQ(times[u][i].free, expected[u][i].free) << what << ", " << kUnitNames[u] << " " << i;
      ASSERT_EQ(times[u][i].done, expected[u][i].done) << what << ", " << kUnitNames[u] << " " << i;
    }
  }
}

TEST(ProgramTimes, OfEveryShippedWorkloadOnEveryShippedConfigAreThoseOfSystemc) {
  const auto systemc = make_systemc_engine();
  int programs = 0;
  for (const auto& file : std::filesystem::directory_iterator("models/workloads")) {
    const Workload workload = load_workload(file.path());
    for (const auto& config : std::filesystem::directory_iterator("configs")) {
      if (!config.is_regular_file()) continue;
      const Program program = compile(workload.graph, load_arch_config(config.path()));
      expect_systemc_times(*systemc, program, program.name + " on " + program.arch.name);
      if (HasFatalFailure()) return;
      ++programs;
    }
  }
  EXPECT_GE(programs, 10 * 6);
}

ArchConfig with_random_port(ArchConfig arch, Random& random) {
  arch.dram_latency_cycles =
      random.chance(0.2) ? random.uniform(1, 10'000) : random.uniform(1, 200);
  arch.burst_beats = random.chance(0.5) ? random.uniform(1, 8) : random.uniform(1, 256);
  arch.outstanding_bursts = random.chance(0.3) ? 1 : random.uniform(1, 40);
  arch.bus_bytes = std::int64_t{4} << random.uniform(0, 4);
  return arch;
}

TEST(ProgramTimes, OfRandomLayersOnRandomPortsAreThoseOfSystemc) {
  const auto systemc = make_systemc_engine();
  for (std::uint64_t seed = 1; seed <= 150 && !HasFatalFailure(); ++seed) {
    Random random(seed);
    const ArchConfig base =
        load_arch_config(seed % 2 == 0 ? "configs/pe8x8.yaml" : "configs/pe16x32.yaml");
    const ArchConfig arch = with_random_port(shrink_memories(base, random), random);
    const RandomLayer layer = make_random_layer(seed, arch);
    expect_systemc_times(*systemc, compile(layer.graph, arch), "seed " + std::to_string(seed));
  }
}

TEST(ProgramTimes, OfRandomProgramsAreThoseOfSystemc) {
  const auto systemc = make_systemc_engine();
  for (std::uint64_t seed = 1; seed <= 300 && !HasFatalFailure(); ++seed) {
    expect_systemc_times(*systemc, make_random_program(seed).program,
                         "seed " + std::to_string(seed));
  }
}

std::string failure_of(const Program& program) {
  try {
    command_times(program);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no InternalError";
}

TEST(ProgramTimes, ADeadlockNamesWhoWaitsForWhat) {
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 1).signal_mask = 0;
  const std::string text = failure_of(draft.program());
  EXPECT_NE(text.find("deadlock: no unit can go on\n  execute command 0 of 1 (conv tile 0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("waits for weight_ready (signalled by no command)"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("load command"), std::string::npos) << text;
}

TEST(ProgramTimes, TokensLeftOverAtTheEndAreAnError) {
  ProgramDraft draft(hand_program());
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  const std::string text = failure_of(draft.program());
  EXPECT_NE(text.find("ends with 1 tokens in semaphore 9"), std::string::npos) << text;
}

TEST(ProgramTimes, TheSixteenthTokenOverflows) {
  ProgramDraft draft(hand_program());
  draft.semaphores[9].initial = 15;
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  const std::string text = failure_of(draft.program());
  EXPECT_NE(text.find("semaphore 9 overflows at cycle 114: more than 15 tokens"), std::string::npos)
      << text;
}

TEST(ProgramTimes, AnInvalidConfigIsBadInput) {
  Program program = hand_program();
  program.arch.array_rows = 5;
  EXPECT_THROW(command_times(program), Error);
}

TEST(RecurrenceEngine, HasTimesAndNoData) {
  const auto engine = make_recurrence_engine();
  EXPECT_EQ(engine->name(), "recurrence");
  EXPECT_TRUE(engine->has_time());
  EXPECT_FALSE(engine->has_data());
  const RunResult result = engine->run(hand_program(), {}, {.move_data = false});
  EXPECT_EQ(result.times, command_times(hand_program()));
  EXPECT_TRUE(result.ofmaps.empty());
  EXPECT_FALSE(result.dram_traffic.has_value());
  EXPECT_THROW(engine->run(hand_program(), hand_input(), {}), InternalError);
}

TEST(ProgramTimes, OfAProgramWithoutCommandsAreEmpty) {
  Program program;
  program.arch = hand_arch();
  for (const auto& times : command_times(program)) EXPECT_TRUE(times.empty());
}

}  // namespace
}  // namespace qsim
