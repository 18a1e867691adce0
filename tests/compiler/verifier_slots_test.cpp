// What verify() knows of slots and halves: data that is lost, old, or another unit's.
#include "tests/compiler/planted_violation.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::command;
using testing::drop_pair;
using testing::expect_violation;
using testing::fields;
using testing::joined;

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

}  // namespace
}  // namespace qsim
