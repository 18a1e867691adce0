// The SystemC engine on programs whose start, free and done cycles are worked out by hand, and what
// it says of programs that cannot end well. Each test is a process of its own.
#include "sim/systemc/systemc_engine.h"

#include <gtest/gtest.h>

#include "core/machine/timing_model.h"
#include "report/analysis/cycle_accounting.h"
#include "tests/core/program_draft.h"
#include "tests/sim/systemc/hand_program.h"
#include "tests/sim/systemc/random_program.h"

namespace qsim {

using namespace report;
using namespace sim;
namespace {

// The text of the InternalError that running `program` ends in.
std::string failure_of(Engine& engine, const Program& program) {
  try {
    engine.run(program, hand_input(), {});
  } catch (const InternalError& error) {
    return error.what();
  }
  ADD_FAILURE() << "the run succeeds";
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

TEST(SystemcEngine, TimesOfAHandMadeProgramAreTheOnesWorkedOutOnPaper) {
  const auto engine = make_systemc_engine();
  const RunResult result = engine->run(hand_program(), hand_input(), {});
  // 16 beats in bursts of 8: issued at 0 and 8, done at 8 + 10 and 16 + 10.
  // 4 beats: the unit is free at 16, but the first burst is done, and its place free, at 18.
  // 5 beats: the second burst's place is free at 26.
  const std::vector<CommandTime> load = {{0, 16, 26}, {16, 22, 32}, {22, 31, 41}};
  EXPECT_EQ(of(result, Unit::kLoad), load);
  // Waits for weights (32). 1 fold x max(16 pixels, 4 rows); 4 preload + 16 + 8 skew + 6.
  EXPECT_EQ(of(result, Unit::kExecute), (std::vector<CommandTime>{{32, 48, 66}}));
  // Waits for psums (66). 16 beats + 6.
  EXPECT_EQ(of(result, Unit::kPost), (std::vector<CommandTime>{{66, 82, 88}}));
  // Waits for the tile (88). 16 beats in two bursts, then the response.
  EXPECT_EQ(of(result, Unit::kStore), (std::vector<CommandTime>{{88, 104, 114}}));
}

TEST(SystemcEngine, AnIdentityConvolutionStoresItsInput) {
  const auto engine = make_systemc_engine();
  const RunResult result = engine->run(hand_program(), hand_input(), {});
  ASSERT_EQ(result.ofmaps.size(), 1u);
  EXPECT_EQ(result.ofmaps[0], hand_input());
  EXPECT_GT(result.wall_seconds, 0);
}

TEST(SystemcEngine, ACommandStartsWhenItsTokenComesAndNoCycleLater) {
  const auto engine = make_systemc_engine();
  // The token of the second EXECUTE comes one cycle before, with, and one cycle after its unit is
  // free, as the first has one pixel more or less.
  for (const std::uint32_t out_cols : {3u, 4u}) {
    Program program = hand_program();
    append_round(program);
    ProgramDraft draft(program);
    draft.semaphores[kActFree].initial = 2;
    draft.fields<Execute>(0).out_cols = out_cols;
    const RunResult result = engine->run(draft.program(), hand_input(), {});
    const std::uint64_t first_free = of(result, Unit::kExecute)[0].free;
    EXPECT_EQ(first_free, 32 + 4 * out_cols);
    // Loads go on at 31: 32 (after 26 and 32), 41; 8 + 8 beats end at 49; weights 50 + 4.
    EXPECT_EQ(of(result, Unit::kLoad)[3], (CommandTime{31, 49, 59}));
    const std::uint64_t tokens = of(result, Unit::kLoad)[4].done;
    EXPECT_EQ(of(result, Unit::kExecute)[1].start, std::max(first_free, tokens));
  }
}

TEST(SystemcEngine, AUnitThatIsBusyStartsItsNextCommandTheCycleItIsFree) {
  const auto engine = make_systemc_engine();
  Program program = hand_program();
  // Another POST with nothing to wait for: ready since 0, the unit since 82.
  program.streams.append({0, 0, program.stream(Unit::kPost).fields<Post>(0)},
                         program.stream(Unit::kPost).origin(0));
  const RunResult result = engine->run(program, hand_input(), {});
  EXPECT_EQ(of(result, Unit::kPost)[1], (CommandTime{82, 98, 104}));
}

TEST(SystemcEngine, ASlotIsLoadedAgainWhenItsReaderIsDone) {
  const auto engine = make_systemc_engine();
  Program program = hand_program();
  append_round(program);
  const RunResult result = engine->run(program, hand_input(), {});
  EXPECT_EQ(of(result, Unit::kExecute)[0].done, 66u);
  EXPECT_EQ(of(result, Unit::kLoad)[3].start, 66u);  // act_free, usable the cycle it is signalled
  EXPECT_EQ(result.ofmaps[0], hand_input());
}

TEST(SystemcEngine, AnExecuteThatDoesNotWaitForItsWeightsComputesOnOtherBytes) {
  const auto engine = make_systemc_engine();
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 1).signal_mask = 0;
  draft.command(Unit::kExecute, 0).wait_mask = mask_of(kActReady);
  const RunResult result = engine->run(draft.program(), hand_input(), {});
  // It starts while the weights are on their way: after LOAD's start, before its done.
  EXPECT_EQ(of(result, Unit::kExecute)[0].start, 26u);
  EXPECT_EQ(of(result, Unit::kLoad)[1], (CommandTime{16, 22, 32}));
  EXPECT_NE(result.ofmaps[0], hand_input());
}

TEST(SystemcEngine, WithoutDataTheTimesAreTheSameAndThereAreNoOfmaps) {
  const auto engine = make_systemc_engine();
  const RunResult with_data = engine->run(hand_program(), hand_input(), {});
  const RunResult time_only = engine->run(hand_program(), {}, {.move_data = false});
  EXPECT_EQ(with_data.times, time_only.times);
  EXPECT_TRUE(time_only.ofmaps.empty());
}

TEST(SystemcEngine, ASecondRunInTheSameProcessStartsAtCycleZeroAgain) {
  const auto engine = make_systemc_engine();
  const RunResult first = engine->run(hand_program(), hand_input(), {});
  const RunResult second = engine->run(hand_program(), hand_input(), {});
  EXPECT_EQ(first.times, second.times);
  EXPECT_EQ(first.ofmaps, second.ofmaps);
}

TEST(SystemcEngine, ASecondEngineInTheSameProcessIsRefused) {
  auto engine = make_systemc_engine();
  EXPECT_THROW(make_systemc_engine(), InternalError);
  engine->run(hand_program(), hand_input(), {});
  EXPECT_THROW(make_systemc_engine(), InternalError);
  engine.reset();
  EXPECT_THROW(make_systemc_engine(), InternalError);
}

TEST(SystemcEngine, ADeadlockNamesWhoWaitsForWhatAndWhoWouldSignalIt) {
  const auto engine = make_systemc_engine();
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 1).signal_mask = 0;
  const std::string text = failure_of(*engine, draft.program());
  expect_contains(text, "deadlock");
  expect_contains(text, "execute command 0 of 1 (conv tile 0");
  expect_contains(text, "waits for weight_ready (signalled by no command)");
  expect_contains(text, "post command 0 of 1");
  expect_contains(text, "acc_ready (signalled next by execute command 0)");
  EXPECT_EQ(text.find("load command"), std::string::npos) << text;
}

TEST(SystemcEngine, AfterADeadlockTheSameEngineRunsTheNextProgram) {
  const auto engine = make_systemc_engine();
  const RunResult before = engine->run(hand_program(), hand_input(), {});
  ProgramDraft draft(hand_program());
  draft.command(Unit::kPost, 0).signal_mask = 0;
  failure_of(*engine, draft.program());
  const RunResult after = engine->run(hand_program(), hand_input(), {});
  EXPECT_EQ(before.times, after.times);
  EXPECT_EQ(before.ofmaps, after.ofmaps);
}

TEST(SystemcEngine, ABadCommandEndsTheRunAndLeavesTheEngineUsable) {
  const auto engine = make_systemc_engine();
  const RunResult before = engine->run(hand_program(), hand_input(), {});
  Program program = hand_program();
  append_round(program);
  ProgramDraft draft(program);
  draft.fields<Load>(1).local_addr = 1 << 19;
  expect_contains(failure_of(*engine, draft.program()), "leave the weight scratchpad");
  const RunResult after = engine->run(hand_program(), hand_input(), {});
  EXPECT_EQ(before.times, after.times);
  EXPECT_EQ(before.ofmaps, after.ofmaps);
}

TEST(SystemcEngine, TokensLeftOverAtTheEndAreAnError) {
  const auto engine = make_systemc_engine();
  ProgramDraft draft(hand_program());
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  expect_contains(failure_of(*engine, draft.program()), "ends with 1 tokens in semaphore 9");
}

TEST(SystemcEngine, TheSixteenthTokenOverflows) {
  const auto engine = make_systemc_engine();
  ProgramDraft draft(hand_program());
  draft.semaphores[9].initial = 15;
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  expect_contains(failure_of(*engine, draft.program()),
                  "semaphore 9 overflows at cycle 114: 16 tokens");
}

TEST(SystemcEngine, AnInputOfAnotherShapeAndAnInvalidArchitectureAreBadInput) {
  const auto engine = make_systemc_engine();
  EXPECT_THROW(engine->run(hand_program(), Tensor(DType::kInt8, {1, 4, 4, 3}), {}), Error);
  EXPECT_THROW(engine->run(hand_program(), Tensor(DType::kUint8, {1, 4, 4, 4}), {}), Error);
  Program program = hand_program();
  program.arch.array_rows = 5;
  EXPECT_THROW(engine->run(program, hand_input(), {}), Error);
}

// A unit's commands take what the timing model says, and each starts at max(unit free, tokens).
TEST(SystemcEngine, RandomProgramsObeyTheTokenRulesAndThePseudoCode) {
  const auto engine = make_systemc_engine();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram random = make_random_program(seed);
    const RunResult result = engine->run(random.program, random.input, {});
    ASSERT_EQ(result.ofmaps, random.ofmaps);
    const RunAccount run = account(random.program, result.times);
    EXPECT_EQ(run.total_cycles, of(result, Unit::kStore).back().done);
    const CommandStream stream = random.program.stream(Unit::kExecute);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const CommandTime& time = of(result, Unit::kExecute)[i];
      const Duration duration =
          execute_terms(stream.fields<Execute>(i), random.program.arch).duration();
      EXPECT_EQ(time.free, time.start + duration.occupancy);
      EXPECT_EQ(time.done, time.start + duration.latency);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace qsim
