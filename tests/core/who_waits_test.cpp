// The watchdogs' text and the count of tokens at the end, of programs of a few empty commands.
#include "core/machine/who_waits.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim {
namespace {

constexpr std::uint16_t kReady = 1 << 2;
constexpr std::uint16_t kFree = 1 << 3;

Instruction instruction(Unit unit, std::uint16_t waits, std::uint16_t signals) {
  Instruction made;
  made.command = empty_command(unit);
  made.command.wait_mask = waits;
  made.command.signal_mask = signals;
  return made;
}

// Two turns of a LOAD that fills a slot and an EXECUTE that frees it; one slot is free at first.
Program two_turns() {
  Program program;
  program.layers.emplace_back();
  program.layers[0].name = "conv";
  program.semaphores[2] = {"ready", 0};
  program.semaphores[3] = {"free", 1};
  for (int turn = 0; turn < 2; ++turn) {
    const Instruction load = instruction(Unit::kLoad, kFree, kReady);
    program.streams.append(load.command, load.origin);
    const Instruction execute = instruction(Unit::kExecute, kReady, kFree);
    program.streams.append(execute.command, execute.origin);
  }
  return program;
}

// The lines, each cut before the command's own text.
std::string halted(const Program& program, UnitProgress load, UnitProgress execute) {
  std::string text = who_waits(program, {load, execute});
  for (const char* const unit : {": load ", ": execute "}) {
    for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit)) {
      text.erase(at, text.find('\n', at) - at);
    }
  }
  return text;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(WhoWaits, IsEmptyWhenAllCommandsAreDone) {
  EXPECT_EQ(who_waits(two_turns(), {{{2, 2}, {2, 2}}}), "");
}

TEST(WhoWaits, NamesTheTokenAndTheCommandThatSignalsItNext) {
  const std::string text = halted(two_turns(), {1, 1}, {1, 0});
  EXPECT_TRUE(holds(text, "\n  load command 1 of 2 (")) << text;
  EXPECT_TRUE(holds(text, "waits for free (signalled next by execute command 0)")) << text;
  EXPECT_TRUE(holds(text, "\n  execute command 0 of 2 (")) << text;
  EXPECT_TRUE(holds(text, ") is under way")) << text;
  EXPECT_FALSE(holds(text, "post") || holds(text, "store")) << text;
}

TEST(WhoWaits, SaysOfATokenThatIsThereThatTheCommandDoesNotStart) {
  // The first LOAD has the token that the program begins with; the EXECUTE has none.
  const std::string text = halted(two_turns(), {0, 0}, {0, 0});
  EXPECT_TRUE(holds(text, ") has its tokens and does not start")) << text;
  EXPECT_TRUE(holds(text, "waits for ready (signalled next by load command 0)")) << text;
  // Its LOAD has signalled, and a command that is done has taken and given its tokens.
  const std::string later = halted(two_turns(), {1, 1}, {0, 0});
  EXPECT_TRUE(holds(later, "execute command 0 of 2 (")) << later;
  EXPECT_TRUE(holds(later, ") has its tokens and does not start")) << later;
  EXPECT_TRUE(holds(later, "load command 1 of 2 (")) << later;
  EXPECT_TRUE(holds(later, "waits for free (signalled next by execute command 0)")) << later;
}

TEST(WhoWaits, SaysWhenNothingSignalsTheTokenAnyMore) {
  Program program = two_turns();
  const Instruction third = instruction(Unit::kExecute, kReady | 1, kFree);
  program.streams.append(third.command, third.origin);
  const std::string text = halted(program, {2, 2}, {2, 2});
  EXPECT_TRUE(holds(text, "execute command 2 of 3 (")) << text;
  EXPECT_TRUE(holds(text, "ready (signalled by load, which has no more of them)")) << text;
  EXPECT_TRUE(holds(text, " (signalled by no command)")) << text;
}

TEST(WhoWaits, TokensThatAreLeftOverOrMissingAtTheEndAreABug) {
  EXPECT_NO_THROW(check_tokens_drained(two_turns()));
  for (const bool is_load : {true, false}) {
    Program program = two_turns();
    const Instruction more =
        is_load ? instruction(Unit::kLoad, 0, kReady) : instruction(Unit::kExecute, kFree, 0);
    program.streams.append(more.command, more.origin);
    try {
      check_tokens_drained(program);
      ADD_FAILURE() << "not noticed";
    } catch (const InternalError& error) {
      const std::string expected = is_load
                                       ? "the program ends with 1 tokens in ready; it began with 0"
                                       : "the program ends with 0 tokens in free; it began with 1";
      EXPECT_TRUE(holds(error.what(), expected)) << error.what();
    }
  }
}

}  // namespace
}  // namespace qsim
