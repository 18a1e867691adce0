// The text of every engine's watchdog: who waits for what in a program that has come to a halt. It
// works from the program and from how far each unit has come, not from the engine's own counts of
// tokens. So it also shows when these counts are wrong.
#pragma once

#include <array>
#include <string>

#include "core/machine/program.h"

namespace qsim {

// Commands of one unit, counted from the stream's first.
struct UnitProgress {
  std::size_t started = 0;
  std::size_t done = 0;
};

// A line for every unit that has commands left: what it waits for and who would signal that, or
// what is under way. Empty when all commands are done.
std::string who_waits(const Program& program, const std::array<UnitProgress, kUnits>& progress);

// Throws InternalError when the commands of a program leave other numbers of tokens than it began
// with.
void check_tokens_drained(const Program& program);

}  // namespace qsim
