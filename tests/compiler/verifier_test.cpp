// verify() passes a good program and finds every kind of fault, each planted once into it.
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "core/timing_model.h"
#include "tests/core/program_draft.h"
#include "tests/core/sample_program.h"

namespace qsim {
namespace {

using sample::mask;

std::string joined(const std::vector<std::string>& violations) {
  std::string text;
  for (const std::string& violation : violations) text += violation + "\n";
  return text;
}

template <typename Fields>
Fields& fields(ProgramDraft& program, std::size_t index) {
  return program.fields<Fields>(index);
}

Command& command(ProgramDraft& program, Unit unit, std::size_t index) {
  return program.command(unit, index);
}

void drop(std::uint16_t& bits, std::size_t semaphore) {
  bits &= static_cast<std::uint16_t>(~mask(semaphore));
}

// Takes a semaphore out of one waiting and one signalling command, so that the counts stay equal.
void drop_pair(ProgramDraft& p, std::size_t semaphore, Unit waiter, std::size_t wait,
               Unit signaller, std::size_t signal) {
  drop(command(p, waiter, wait).wait_mask, semaphore);
  drop(command(p, signaller, signal).signal_mask, semaphore);
}

// The sample with one fault must be refused with a text that contains `expected`.
void expect_violation(const std::function<void(ProgramDraft&)>& plant,
                      const std::string& expected) {
  ProgramDraft program(sample::program());
  plant(program);
  const std::string found = joined(verify(program.program(), sample::tiny_arch()));
  EXPECT_NE(found.find(expected), std::string::npos) << "expected: " << expected << "\nfound:\n"
                                                     << found;
}

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
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).pool_h = 5; },
                   "pool_h is 5; allowed: 1 to 4");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).rounding = 3; }, "rounding is 3");
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
                   "ofmap of second overlaps ofmap of first");
  expect_violation([](ProgramDraft& p) { p.layers[0].ofmap.address = 60; },
                   "ofmap of first overlaps input");
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

TEST(Verifier, ReadsOfWordsNeverWrittenAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 0).run_bytes = 44; },
                   "execute command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4): words 0..12 "
                   "of the activation scratchpad: reads words never written");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 0).weight_addr = 0x80; },
                   "words 128..164 of the weight scratchpad: reads words never written");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).acc_addr = 20; },
                   "words 20..28 of the accumulator: reads words never written");
  expect_violation([](ProgramDraft& p) { fields<Store>(p, 0).out_addr = 4; },
                   "words 4..12 of the output scratchpad: reads words never written");
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 0).accumulate = 1; },
                   "words 0..8 of the accumulator: accumulates onto words never written");
}

TEST(Verifier, DataThatIsLostOrTakenFromElsewhereIsFound) {
  expect_violation([](ProgramDraft& p) { fields<Execute>(p, 2).accumulate = 1; },
                   "accumulates onto psums that post command 0 (first tile 0, n 0..1, y 0..2, x "
                   "0..4, c 0..4) has taken");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 3).local_addr = 0; },
                   "load command 3 (first tile 1, n 0..1, y 0..2, x 0..4, c 4..8): words 0..36 of "
                   "the weight scratchpad: ");
  expect_violation(
      [](ProgramDraft& p) {
        const Instruction again = p.stream(Unit::kLoad)[12];
        p.stream(Unit::kLoad).push_back(again);
        command(p, Unit::kLoad, 13).wait_mask = command(p, Unit::kLoad, 13).signal_mask = 0;
        fields<Load>(p, 13).local_addr = 128;
      },
      "load command 13 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4): ");
  expect_violation(
      [](ProgramDraft& p) {
        const Instruction again = p.stream(Unit::kLoad)[12];
        p.stream(Unit::kLoad).insert(p.stream(Unit::kLoad).begin() + 12, again);
        command(p, Unit::kLoad, 13).wait_mask = 0;
        command(p, Unit::kLoad, 12).signal_mask = 0;
      },
      "load command 13 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4): words 0..32 of the "
      "activation scratchpad: overwrites what load command 12 (second tile 0, n 0..1, y 0..2, x "
      "0..2, c 0..4) wrote and nobody has read");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 0).out_rows = 3; },
                   "post command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4): nobody reads "
                   "what it writes to the output scratchpad");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 4).out_rows = 3; },
                   "post command 4 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4): nobody reads "
                   "what it writes to the output scratchpad");
  expect_violation([](ProgramDraft& p) { p.stream(Unit::kExecute)[4].origin.layer = 0; },
                   "reads what load command 12 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4) "
                   "wrote for another layer");
}

// The weights of tile 2 end early, and the words after them are still there from tile 0.
TEST(Verifier, ReadsOfASlotThatWasHandedBackAreFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 6).run_bytes = 128; },
                   "execute command 2 (first tile 2, n 0..1, y 2..4, x 0..4, c 0..4): words 0..36 "
                   "of the weight scratchpad: reads what load command 1 (first tile 0, n 0..1, y "
                   "0..2, x 0..4, c 0..4) wrote before the slot was handed back");
}

// The second half of a command's work as a command after it, which takes over the signals.
template <typename Fields>
Fields& split(ProgramDraft& p, std::size_t index) {
  auto& stream = p.stream(Command{0, 0, Fields{}}.unit());
  const auto at = static_cast<std::ptrdiff_t>(index);
  stream.insert(stream.begin() + at, Instruction(stream[index]));
  stream[index].command.signal_mask = 0;
  stream[index + 1].command.wait_mask = 0;
  return fields<Fields>(p, index + 1);
}

// The weights of tile 2, in the slot that tile 0 has used: words 0..16 and 16..36.
void split_weights_of_tile_2(ProgramDraft& p) {
  Load& second = split<Load>(p, 6);
  fields<Load>(p, 6).run_bytes = 64;
  second.dram_addr += 64;
  second.local_addr += 16;
  second.run_bytes -= 64;
}

// A half or slot is handed back once a turn, however many commands fill it.
TEST(Verifier, UsedSlotMayBeFilledBySeveralCommands) {
  ProgramDraft program(sample::program());
  split_weights_of_tile_2(program);
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");

  program = ProgramDraft(sample::program());  // each command of tile 2 does one of its two rows
  Execute& execute = split<Execute>(program, 2);
  execute.origin_row += 1;
  execute.acc_addr += 4;
  fields<Execute>(program, 2).out_rows = execute.out_rows = 1;
  Post& post = split<Post>(program, 2);
  post.acc_addr += 4;
  post.out_addr += 4;
  fields<Post>(program, 2).in_rows = fields<Post>(program, 2).out_rows = 1;
  post.in_rows = post.out_rows = 1;
  EXPECT_EQ(joined(verify(program.program(), sample::tiny_arch())), "");
}

// What an earlier turn left stays old after every command of the new one.
TEST(Verifier, ReadsOfAUsedSlotBehindItsSecondCommandAreFound) {
  expect_violation(
      [](ProgramDraft& p) {
        split_weights_of_tile_2(p);
        fields<Load>(p, 7).run_bytes -= 16;
      },
      "execute command 2 (first tile 2, n 0..1, y 2..4, x 0..4, c 0..4): words 0..36 of the "
      "weight scratchpad: reads what load command 1 (first tile 0, n 0..1, y 0..2, x 0..4, c "
      "0..4) wrote before the slot was handed back");
  // The third turn begins beside the second one's words, which are another layer's.
  expect_violation(
      [](ProgramDraft& p) {
        split_weights_of_tile_2(p);
        fields<Load>(p, 11).local_addr = 40;  // of the second layer, words 40..48
        fields<Execute>(p, 4).weight_addr = 34;
      },
      "execute command 4 (second tile 0, n 0..1, y 0..2, x 0..2, c 0..4): words 34..42 of the "
      "weight scratchpad: reads what load command 7 (first tile 2, n 0..1, y 2..4, x 0..4, c "
      "0..4) wrote for another layer");
}

// Tile 2 puts its first row of psums anew and adds the second to what POST left there of tile 0.
TEST(Verifier, PsumsOfAnEarlierTurnAreNotAddedTo) {
  expect_violation(
      [](ProgramDraft& p) {
        fields<Post>(p, 0).in_rows = 1;
        fields<Post>(p, 0).out_rows = 1;
        Execute& execute = split<Execute>(p, 2);
        execute.origin_row += 1;
        execute.acc_addr += 4;
        execute.accumulate = 1;
        fields<Execute>(p, 2).out_rows = execute.out_rows = 1;
      },
      "execute command 3 (first tile 2, n 0..1, y 2..4, x 0..4, c 0..4): words 4..8 of the "
      "accumulator: accumulates onto psums that execute command 0 (first tile 0, n 0..1, y 0..2, "
      "x 0..4, c 0..4) left before the half was handed back");
}

// EXECUTE 2 works beside the psums that POST 0 reads, in the same half, and does not wait for it.
TEST(Verifier, AHalfIsHandedOverAsAWhole) {
  expect_violation(
      [](ProgramDraft& p) {
        drop_pair(p, sample::kAccFree, Unit::kExecute, 2, Unit::kPost, 2);
        fields<Execute>(p, 2).acc_addr = fields<Post>(p, 2).acc_addr = 16;
      },
      "execute command 2 (first tile 2, n 0..1, y 2..4, x 0..4, c 0..4): words 16..24 of the "
      "accumulator: works in the half of post command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c "
      "0..4), which is not known to be done");
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
