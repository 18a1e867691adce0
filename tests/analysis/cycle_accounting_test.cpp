// Where cycles go, on the hand-made program of tests/sim/systemc with times written down here: no
// engine takes part, so that an engine's mistake and the accounting's cannot hide each other.
#include "report/analysis/cycle_accounting.h"

#include <numeric>

#include <gtest/gtest.h>

#include "tests/core/program_draft.h"
#include "tests/sim/systemc/hand_program.h"

namespace qsim {

using namespace report;
namespace {

using Times = std::array<std::vector<CommandTime>, kUnits>;

constexpr std::size_t kLoadUnit = 0, kExecuteUnit = 1, kPostUnit = 2, kStoreUnit = 3;

// See tests/sim/systemc/systemc_engine_test.cpp for the sum.
Times one_round() {
  return {{{{0, 16, 26}, {16, 22, 32}, {22, 31, 41}},
           {{32, 48, 66}},
           {{66, 82, 88}},
           {{88, 104, 114}}}};
}

// A second layer whose picture may only be loaded when the first EXECUTE is done (66).
Program two_layer_program() {
  Program program = hand_program();
  append_round(program);
  program.layers.push_back(program.layers[0]);
  program.layers[1].name = "conv_b";
  ProgramDraft draft(std::move(program));
  for (auto& stream : draft.streams()) {
    for (std::size_t i = stream.size() / 2; i < stream.size(); ++i) stream[i].origin.layer = 1;
  }
  return draft.program();
}

// The first STORE's response comes at `first_layer_end`.
Times two_rounds(std::uint64_t first_layer_end) {
  Times times = one_round();
  times[kStoreUnit][0].done = first_layer_end;
  const Times second = {{{{66, 82, 92}, {82, 88, 98}, {88, 97, 107}},
                         {{98, 114, 132}},
                         {{132, 148, 154}},
                         {{154, 170, 180}}}};
  for (std::size_t u = 0; u < kUnits; ++u) {
    times[u].insert(times[u].end(), second[u].begin(), second[u].end());
  }
  return times;
}

std::uint64_t sum(const StallCycles& stalls) {
  return std::accumulate(stalls.begin(), stalls.end(), std::uint64_t{0});
}

TEST(CycleAccounting, EveryCycleOfEveryUnitIsBusyStalledOrIdle) {
  const RunAccount run = account(hand_program(), one_round());
  EXPECT_EQ(run.total_cycles, 114u);
  const std::uint64_t busy[] = {31, 16, 16, 16};
  const std::uint64_t stalled[] = {0, 32, 66, 88};
  const std::uint64_t idle[] = {83, 66, 32, 10};
  for (std::size_t u = 0; u < kUnits; ++u) {
    EXPECT_EQ(run.units[u].busy_cycles, busy[u]) << kUnitNames[u];
    EXPECT_EQ(sum(run.units[u].stall_cycles), stalled[u]) << kUnitNames[u];
    EXPECT_EQ(run.units[u].idle_cycles, idle[u]) << kUnitNames[u];
  }
}

TEST(CycleAccounting, AStallIsChargedToTheTokenThatCameLast) {
  const RunAccount run = account(hand_program(), one_round());
  // Activations came at 26, weights at 32.
  EXPECT_EQ(run.units[kExecuteUnit].stall_cycles[kWeightReady], 32u);
  // Parameters came at 41, psums at 66.
  EXPECT_EQ(run.units[kPostUnit].stall_cycles[kAccReady], 66u);
}

TEST(CycleAccounting, ALayerHasItsMacsItsTrafficAndItsWindow) {
  const RunAccount run = account(hand_program(), one_round());
  ASSERT_EQ(run.layers.size(), 1u);
  const LayerAccount& layer = run.layers[0];
  EXPECT_EQ(layer.begin_cycle, 0u);
  EXPECT_EQ(layer.end_cycle, 114u);
  EXPECT_EQ(layer.stream_cycles, 16u);
  EXPECT_EQ(layer.fold_bubble_cycles, 0u);
  EXPECT_EQ(layer.stall_cycles[kWeightReady], 32u);
  EXPECT_EQ(layer.idle_cycles, 66u);
  EXPECT_EQ(layer.macs, 256u);
  EXPECT_EQ(layer.streamed_macs, 256u);
  EXPECT_EQ(layer.dram_read_bytes, 64u + 16u + 20u);
  EXPECT_EQ(layer.dram_write_bytes, 64u);
  EXPECT_EQ(run.dram_read_bytes, 100u);
  EXPECT_DOUBLE_EQ(utilization(run.macs, run.total_cycles, hand_arch()), 256.0 / (16 * 114));
}

TEST(CycleAccounting, AStreamThatCrossesTheEndOfAWindowIsCutThere) {
  const RunAccount run = account(two_layer_program(), two_rounds(106));
  ASSERT_EQ(run.layers.size(), 2u);
  EXPECT_EQ(run.total_cycles, 180u);
  // [0, 106): stall to 32, stream to 48, stall to 98, stream of the second layer to 106.
  EXPECT_EQ(run.layers[0].stream_cycles, 16u + 8u);
  EXPECT_EQ(run.layers[0].stall_cycles[kWeightReady], 32u + 50u);
  EXPECT_EQ(run.layers[0].idle_cycles, 0u);
  // [106, 180): stream to 114, then nothing more to do.
  EXPECT_EQ(run.layers[1].stream_cycles, 8u);
  EXPECT_EQ(sum(run.layers[1].stall_cycles), 0u);
  EXPECT_EQ(run.layers[1].idle_cycles, 66u);
  EXPECT_EQ(run.layers[0].cycles() + run.layers[1].cycles(), run.total_cycles);
}

TEST(CycleAccounting, AStallThatCrossesTheEndOfAWindowIsCutThere) {
  Times times = two_rounds(90);
  times[kStoreUnit][0].free = 89;
  const RunAccount run = account(two_layer_program(), times);
  EXPECT_EQ(run.layers[0].stall_cycles[kWeightReady], 32u + 42u);
  EXPECT_EQ(run.layers[1].stall_cycles[kWeightReady], 8u);
}

TEST(CycleAccounting, BubblesOfFoldsWithFewerPixelsThanRowsAreCountedToTheCycle) {
  ProgramDraft draft(two_layer_program());
  for (ProgramLayer& layer : draft.layers) layer.macs = 128;
  for (Instruction& instruction : draft.stream(Unit::kExecute)) {
    auto& execute = std::get<Execute>(instruction.command.fields);
    execute.out_rows = 1;  // 4 folds of 4 cycles with 2 pixels each
    execute.out_cols = 2;
    execute.planes = 4;
  }
  // The second EXECUTE has run 7 cycles at 105: a whole fold and 3 cycles of the next.
  const RunAccount run = account(draft.program(), two_rounds(105));
  EXPECT_EQ(run.layers[0].fold_bubble_cycles, 8u + 2u + 1u);
  EXPECT_EQ(run.layers[1].fold_bubble_cycles, 5u);
  EXPECT_EQ(run.layers[0].streamed_macs, 4u * 2u * 16u);
}

// The second EXECUTE has another dataflow, and no token to wait for: from 48, when the unit is
// free, to 66, when the first one is done, it waits for an empty array.
TEST(CycleAccounting, AWaitForAnotherDataflowIsChargedToTheSwitch) {
  ProgramDraft draft(two_layer_program());
  draft.command(Unit::kExecute, 1).wait_mask = 0;
  draft.fields<Execute>(1).dataflow = static_cast<std::uint32_t>(Dataflow::kOutputStationary);
  const Program program = draft.program();
  Times times = two_rounds(114);
  times[kExecuteUnit][1] = {66, 82, 132};
  const RunAccount run = account(program, times);
  EXPECT_EQ(run.units[kExecuteUnit].stall_cycles[kSwitchStall], 18u);
  EXPECT_EQ(run.layers[0].stall_cycles[kSwitchStall], 18u);
  EXPECT_EQ(stall_name(program, kSwitchStall), "dataflow_switch");
  times[kExecuteUnit][1].start = 65;
  EXPECT_THROW(account(program, times), InternalError);
}

// Its weights come at 98, after the array is empty.
TEST(CycleAccounting, ATokenThatComesAfterTheSwitchIsCharged) {
  ProgramDraft draft(two_layer_program());
  draft.fields<Execute>(1).dataflow = static_cast<std::uint32_t>(Dataflow::kInputStationary);
  const RunAccount run = account(draft.program(), two_rounds(114));
  EXPECT_EQ(run.units[kExecuteUnit].stall_cycles[kSwitchStall], 0u);
  EXPECT_EQ(run.units[kExecuteUnit].stall_cycles[kWeightReady], 32u + 50u);
}

TEST(CycleAccounting, ACommandThatStartsACycleEarlyOrLateIsAnError) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (const int shift : {-1, 1}) {
      SCOPED_TRACE(std::string(kUnitNames[u]) + " " + std::to_string(shift));
      Times times = two_rounds(114);
      CommandTime& last = times[u].back();
      last.start = static_cast<std::uint64_t>(static_cast<std::int64_t>(last.start) + shift);
      EXPECT_THROW(account(two_layer_program(), times), InternalError);
    }
  }
}

TEST(CycleAccounting, ATokenThatNobodySignalsIsAnError) {
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 0).signal_mask = 0;
  EXPECT_THROW(account(draft.program(), one_round()), InternalError);
}

TEST(CycleAccounting, TimesThatDoNotCoverTheProgramAreAnError) {
  Times times = one_round();
  times[kLoadUnit].pop_back();
  EXPECT_THROW(account(hand_program(), times), InternalError);
}

TEST(CycleAccounting, ALayerWithMoreUsefulMacsThanStreamedOnesIsAnError) {
  Program program = hand_program();
  program.layers[0].macs = 257;
  EXPECT_THROW(account(program, one_round()), InternalError);
}

TEST(CycleAccounting, ALayerThatUsesMoreThanEveryPeIsAnError) {
  Program program = two_layer_program();
  // Computed in the first layer's window: 179 to 180 is too short for its 256 MACs.
  EXPECT_THROW(account(program, two_rounds(179)), InternalError);
}

TEST(CycleAccounting, TrafficThatBelongsToNoLayerIsAnError) {
  ProgramDraft draft(hand_program());
  draft.stream(Unit::kLoad)[2].origin.layer = 1;
  EXPECT_THROW(account(draft.program(), one_round()), InternalError);
}

TEST(CycleAccounting, UtilizationOfNoCyclesIsZero) {
  EXPECT_EQ(utilization(100, 0, hand_arch()), 0.0);
}

}  // namespace
}  // namespace qsim
