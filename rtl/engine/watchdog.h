// Says of a program that has come to a halt who waits for what, from how far each unit has come.
#pragma once

#include <array>
#include <string>

#include "core/program.h"

namespace qsim {

// Commands of one unit, counted from the stream's first.
struct UnitProgress {
  std::size_t given = 0;
  std::size_t started = 0;
  std::size_t done = 0;
};

// A line for every unit that has commands left: what it waits for, or what is under way.
std::string who_waits(const Program& program, const std::array<UnitProgress, kUnits>& progress);

// Throws InternalError when a program that has run to its end leaves other numbers of tokens than
// it began with.
void check_tokens_drained(const Program& program);

}  // namespace qsim
