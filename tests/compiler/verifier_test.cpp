// verify() passes a good program and finds every kind of fault, each planted once into it.
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "core/machine/timing_model.h"
#include "tests/compiler/planted_violation.h"

namespace qsim {

using namespace compiler;
namespace {

using sample::mask;
using testing::command;
using testing::drop;
using testing::drop_pair;
using testing::expect_violation;
using testing::fields;
using testing::joined;

TEST(Verifier, GoodProgramPasses) {
  EXPECT_EQ(joined(verify(sample::program(), sample::tiny_arch())), "");
}

TEST(Verifier, ProgramOfAnotherConfigIsRefused) {
  ArchConfig other = sample::tiny_arch();
  other.name = "other";
  other.act_slots = 4;
  EXPECT_EQ(joined(verify(sample::program(), other)),
            "the program was made for config 'tiny', whose parameters differ from those of "
            "'other'\n");
  expect_violation([](ProgramDraft& p) { p.arch.array_rows = 5; }, "array_rows is 5");
}

// Found by fuzzing: the engine's accounts do not add up for such a program.
TEST(Verifier, MoreUsefulMacsThanTheArrayStreamsAreFound) {
  const std::int64_t pes = 16;  // of sample::tiny_arch()
  expect_violation([](ProgramDraft& p) { p.layers[0].macs = std::int64_t{1} << 40; },
                   "layer 'first' has 1099511627776 useful MACs; its EXECUTEs stream ");
  expect_violation([](ProgramDraft& p) { p.layers[1].macs = -1; },
                   "layer 'second' has -1 useful MACs");
  // All that is streamed may be useful, and one more may not.
  std::int64_t streamed = 0;
  const Program program = sample::program();
  for (const Instruction& execute : program.stream(Unit::kExecute)) {
    if (execute.origin.layer != 1) continue;
    const auto terms = execute_terms(std::get<Execute>(execute.command.fields), program.arch);
    streamed += static_cast<std::int64_t>(terms.useful()) * pes;
  }
  ProgramDraft draft(program);
  draft.layers[1].macs = streamed;
  EXPECT_EQ(joined(verify(draft.program(), sample::tiny_arch())), "");
  expect_violation([&](ProgramDraft& p) { p.layers[1].macs = streamed + 1; }, "useful MACs");
}

TEST(Verifier, FieldsWithoutSenseAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).runs = 0; },
                   "load command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4): runs is 0; at "
                   "least 1 is needed");
  expect_violation(
      [](ProgramDraft& p) {
        fields<Load>(p, 0).groups = 2;
        fields<Load>(p, 0).group_stride = 0;
      },
      "group_stride is 0");
  expect_violation(
      [](ProgramDraft& p) {
        fields<Store>(p, 0).runs = 2;
        fields<Store>(p, 0).run_stride = 0;
      },
      "run_stride is 0");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).memory = 3; },
                   "memory is 3; allowed: 0 to 2");
  expect_violation(
      [](ProgramDraft& p) { fields<Execute>(p, 1).stride_h = 0; },
      "execute command 1 (first tile 1, n 0..1, y 0..2, x 0..4, c 4..8): stride_h is 0");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 1).planes = 0; }, "planes is 0");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 1).dataflow = 3; },
                   "dataflow is 3; allowed: 0 to 2");
  for (const std::uint32_t dataflow : {0u, 1u}) {
    expect_violation(
        [=](ProgramDraft& p) {
          fields<Execute>(p, 1).dataflow = dataflow;
          fields<Execute>(p, 1).blocks = 2;
        },
        "blocks is 2; allowed: 1 to 1");
  }
  expect_violation(
      [](ProgramDraft& p) {
        fields<Execute>(p, 1).dataflow = 2;
        fields<Execute>(p, 1).blocks = 0;
      },
      "blocks is 0; allowed: 1 to 255");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).pool_h = 5; },
                   "pool_h is 5; allowed: 1 to 4");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).rounding = 3; },
                   "rounding is 3 (float32), which needs requantizer: dyadic; allowed: 0 to 2");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).second_addr = 1; },
                   "second_addr is 1; allowed: 0 to 0");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).second_half = 1; },
                   "second_half is 1; allowed: 0 to 0");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).add = 1; },
                   "add is 1, which needs requantizer: dyadic");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).lookup = 1; },
                   "lookup is 1, which needs requantizer: dyadic");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).lo = 101; },
                   "lo is 101; allowed: -128 to 100");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 0).run_bytes = 0; }, "run_bytes is 0");
  expect_violation([](ProgramDraft& p) { p.stream(Unit::kLoad)[0].origin.layer = 2; },
                   "its origin is no layer of the program");
}

TEST(Verifier, WordsOutsideOneMemoryOrHalfAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).local_addr = 250; },
                   "words 250..262 of the activation scratchpad, which has 256");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 1).local_addr = 240; },
                   "words 240..276 of the weight scratchpad, which has 256");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 2).local_addr = 2; },
                   "words 2..3 of the parameter memory");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 0).act_addr = 250; },
                   "words 250..262 of the activation scratchpad");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 0).weight_addr = 240; },
                   "words 240..276 of the weight scratchpad");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 0).acc_addr = 30; },
                   "its psums end at word 38 of an accumulator half; it has 32");
  // 9 folds of 3 blocks of 4 words; 3 x 8 psums fit the half, 5 x 8 do not.
  expect_violation(
      [](ProgramDraft& p) {
        fields<Execute>(p, 0).dataflow = 2;
        fields<Execute>(p, 0).blocks = 3;
      },
      "words 0..108 of the weight scratchpad: reads words never written");
  expect_violation(
      [](ProgramDraft& p) {
        fields<Execute>(p, 0).dataflow = 2;
        fields<Execute>(p, 0).blocks = 5;
      },
      "its psums end at word 40 of an accumulator half; it has 32");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).acc_addr = 30; },
                   "its psums end at word 38 of an accumulator half");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).out_addr = 253; },
                   "words 253..261 of the output scratchpad");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 0).out_addr = 125; },
                   "words 125..133 of the output scratchpad");
}

TEST(Verifier, PartsOfWordsAndSlotsAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).run_bytes = 46; },
                   "run_bytes is 46; a multiple of the word's 4 bytes is needed");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 2).run_bytes = 16; },
                   "loads 16 bytes of parameters; a slot takes 20");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 0).run_bytes = 30; },
                   "run_bytes is 30; a multiple of the word's 4 bytes is needed");
}

TEST(Verifier, ParametersInSeveralRunsAreFound) {
  expect_violation(
      [](ProgramDraft& p) {
        fields<Load>(p, 2).run_bytes = 4;
        fields<Load>(p, 2).runs = 5;
        fields<Load>(p, 2).run_stride = 4;
      },
      "loads parameters in 1 groups of 5 runs; they are one run");
  expect_violation(
      [](ProgramDraft& p) {
        fields<Load>(p, 2).run_bytes = 10;
        fields<Load>(p, 2).groups = 2;
        fields<Load>(p, 2).group_stride = 12;
      },
      "loads parameters in 2 groups of 1 runs; they are one run");
}

TEST(Verifier, RegionsThatOverlapOrLieOutsideAreFound) {
  expect_violation([](ProgramDraft& p) { p.layers[1].ofmap.address = 188; },
                   "ofmap of second overlaps ofmap of first, and nobody stores it");
  expect_violation([](ProgramDraft& p) { p.layers[0].ofmap.address = 60; },
                   "stores bytes 160..192 of DRAM, which are no words of the ofmap of first");
  expect_violation([](ProgramDraft& p) { p.writable_bytes = 200; },
                   "ofmap of second lies at 192..208, outside the 200 writable bytes");
  expect_violation([](ProgramDraft& p) { p.segments[1].address = 540; },
                   "segment first.params begins at 540, before the region below it ends at "
                   "544");
  expect_violation([](ProgramDraft& p) { p.segments[3].address = (1ll << 32) - 19; },
                   "DRAM ends at 4294967297; addresses have 32 bits");
  expect_violation([](ProgramDraft& p) { p.input.tensor.block = 8; },
                   "input has blocks of 8 channels; 4 are needed");
}

TEST(Verifier, TransfersOutsideTheirRegionsAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).dram_addr = 20; },
                   "loads bytes 20..68 of DRAM, which are no words of the input or of an ofmap");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).dram_addr = 256; },
                   "loads bytes 256..304 of DRAM, which are no words of the input or of an ofmap");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 1).dram_addr = 404; },
                   "loads bytes 404..548 of DRAM, which are in no segment");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 2).dram_addr = 0; },
                   "loads bytes 0..20 of DRAM, which are in no segment");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 0).dram_addr = 0; },
                   "stores bytes 0..32 of DRAM, which are no words of the ofmap of first");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 4).dram_addr = 64; },
                   "stores bytes 64..80 of DRAM, which are no words of the ofmap of second");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).dram_addr = 2; },
                   "its address or strides are no multiples of the beat's 4 bytes");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 0).dram_addr = 66; },
                   "its address or strides are no multiples of the beat's 4 bytes");
  expect_violation(
      [](ProgramDraft& p) {
        fields<Load>(p, 0).runs = 2;
        fields<Load>(p, 0).run_stride = 18;
      },
      "its address or strides are no multiples of the beat's 4 bytes");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).dram_addr = 0xfffffffc; },
                   "ends at DRAM address 4294967340; addresses have 32 bits");
}

TEST(Verifier, ElementsStoredTwiceOrNeverAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 1).dram_addr = 64; },
                   "store command 1 (first tile 1, n 0..1, y 0..2, x 0..4, c 4..8): stores ofmap "
                   "of first element (n 0, y 0, x 0, c 0) a second time, after store command 0");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 1).dram_addr = 64; },
                   "nobody stores ofmap of first element (n 0, y 0, x 0, c 4)");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 4).run_bytes = 12; },
                   "nobody stores ofmap of second element (n 0, y 1, x 1, c 0)");
}

TEST(Verifier, TokenRulesAreChecked) {
  expect_violation([](ProgramDraft& p) { p.semaphores[sample::kActFree].initial = 16; },
                   "semaphore 1 (act_free) begins at 16; at most 15 is allowed");
  expect_violation(
      [](ProgramDraft& p) { command(p, Unit::kStore, 0).signal_mask |= mask(sample::kAccFree); },
      "semaphore 7 (acc_free) has 2 producing and 1 consuming units; one of each is allowed");
  expect_violation(
      [](ProgramDraft& p) { command(p, Unit::kStore, 0).wait_mask |= mask(sample::kAccFree); },
      "semaphore 7 (acc_free) has 1 producing and 2 consuming units");
  expect_violation(
      [](ProgramDraft& p) { drop(command(p, Unit::kPost, 0).signal_mask, sample::kAccFree); },
      "semaphore 7 (acc_free) is signalled 4 times and waited for 5 times");
}

TEST(Verifier, DeadlockNamesEveryUnitThatIsStuck) {
  const auto plant = [](ProgramDraft& p) { p.semaphores[sample::kOutFree].initial = 0; };
  expect_violation(plant,
                   "post command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4): deadlock: waits "
                   "for semaphore 4 (param_ready) semaphore 6 (acc_ready) semaphore 9 (out_free)");
  expect_violation(plant,
                   "store command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4): deadlock");
  expect_violation(
      [](ProgramDraft& p) { std::swap(p.stream(Unit::kLoad)[0], p.stream(Unit::kLoad)[12]); },
      "load command 0 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4): deadlock");
}

// LOAD's first command may be done long before STORE's first takes its token.
TEST(Verifier, SemaphoreThatCouldExceedFifteenIsFound) {
  const auto plant = [](ProgramDraft& p, std::uint8_t initial) {
    p.semaphores[15] = {"spare", initial};
    command(p, Unit::kLoad, 0).signal_mask |= mask(15u);
    command(p, Unit::kStore, 0).wait_mask |= mask(15u);
  };
  expect_violation([&](ProgramDraft& p) { plant(p, 15); },
                   "load command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4): may raise "
                   "semaphore 15 (spare) to 16; at most 15 is allowed");
  ProgramDraft program(sample::program());
  plant(program, 14);
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");
  // With a full set of free tokens each signal follows its own wait: 15 is never exceeded.
  program.semaphores[sample::kActFree].initial = 15;
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");
}

// A token is dropped on both sides: order is lost, and nothing else.
TEST(Verifier, HazardsOfMissingTokensAreFound) {
  expect_violation(
      [](ProgramDraft& p) {
        drop_pair(p, sample::kWeightReady, Unit::kExecute, 1, Unit::kLoad, 3);
      },
      "execute command 1 (first tile 1, n 0..1, y 0..2, x 0..4, c 4..8): words 64..100 of the "
      "weight scratchpad: reads before load command 3 (first tile 1, n 0..1, y 0..2, x 0..4, c "
      "4..8) is known to be done");
  expect_violation(
      [](ProgramDraft& p) { drop_pair(p, sample::kAccReady, Unit::kPost, 4, Unit::kExecute, 4); },
      "words 0..16 of the accumulator: reads before execute command 4");
  expect_violation(
      [](ProgramDraft& p) { drop_pair(p, sample::kOutReady, Unit::kStore, 4, Unit::kPost, 4); },
      "words 0..4 of the output scratchpad: writes before store command 4");
  expect_violation(
      [](ProgramDraft& p) { drop_pair(p, sample::kAccFree, Unit::kExecute, 2, Unit::kPost, 2); },
      "execute command 2 (first tile 2, n 0..1, y 2..4, x 0..4, c 0..4): words 0..8 of the "
      "accumulator: writes before post command 0");
  expect_violation(
      [](ProgramDraft& p) { drop_pair(p, sample::kOfmapDone, Unit::kLoad, 12, Unit::kStore, 3); },
      "load command 12 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4): loads ofmap of first "
      "element (n 0, y 2, x 0, c 0) before store command 2");
  // The token comes from the last STORE but one: only what the last one stores is loaded too early.
  expect_violation(
      [](ProgramDraft& p) {
        drop(command(p, Unit::kStore, 3).signal_mask, sample::kOfmapDone);
        command(p, Unit::kStore, 2).signal_mask |= mask(sample::kOfmapDone);
      },
      "loads ofmap of first element (n 0, y 2, x 0, c 4) before store command 3");
  for (const std::size_t semaphore : {sample::kActReady, sample::kParamReady, sample::kWeightFree,
                                      sample::kParamFree, sample::kOutFree}) {
    expect_violation(
        [&](ProgramDraft& p) {
          for (auto& stream : p.streams()) {
            for (Instruction& instruction : stream) {
              drop(instruction.command.wait_mask, semaphore);
              drop(instruction.command.signal_mask, semaphore);
            }
          }
        },
        "is known to be done");
  }
}
TEST(Verifier, PadPositionsReadNothing) {
  ProgramDraft program(sample::program());
  // Only the first resident row is loaded, and only it counts as resident.
  fields<Load>(program, 0).run_bytes = 16;
  fields<Execute>(program, 0).in_rows = fields<Execute>(program, 1).in_rows = 1;
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");
}

// Columns -1, 1, 3 and 5 of four: only two are read, and none in front of the slot.
TEST(Verifier, WindowThatStridesOverAPadReadsOnlyWhatIsResident) {
  ProgramDraft program(sample::program());
  program.layers[0].macs = 0;  // fewer are streamed than in the sample
  for (const std::size_t i : {0, 1}) {
    fields<Execute>(program, i).kernel_w = 1;
    fields<Execute>(program, i).stride_w = 2;
    fields<Load>(program, i == 0 ? 1 : 3).run_bytes = 48;
  }
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");
}

TEST(Verifier, LoadForAnExecuteThatSeesNothingButPadIsNotLost) {
  ProgramDraft program(sample::program());
  program.layers[0].macs = 0;           // fewer are streamed than in the sample
  for (const std::size_t i : {0, 1}) {  // the three resident rows lie below every window
    fields<Execute>(program, i).kernel_h = 1;
    fields<Execute>(program, i).origin_row = -2;
    fields<Load>(program, i == 0 ? 1 : 3).run_bytes = 48;
  }
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");
}

TEST(Verifier, ReportsAtMostTwentyViolationsAndSaysHowManyMore) {
  ProgramDraft program(sample::program());
  for (int i = 0; i < 30; ++i) {
    Instruction bad = program.stream(Unit::kStore)[0];
    std::get<Store>(bad.command.fields).groups = 0;
    program.stream(Unit::kStore).push_back(bad);
  }
  const std::vector<std::string> violations = verify(program.program(), sample::tiny_arch());
  ASSERT_EQ(violations.size(), 21u);
  EXPECT_EQ(violations.back(), "and 10 violations more");
}

}  // namespace
}  // namespace qsim
