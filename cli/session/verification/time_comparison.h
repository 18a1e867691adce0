// Compares the command times of two engines: start, free and done of every command.
#pragma once

#include <optional>

#include "core/machine/engine.h"

namespace qsim::cli {

// The first command that differs: the one that starts first, on either engine.
struct TimeDivergence {
  Unit unit = Unit::kLoad;
  std::size_t command = 0;  // of its stream
  CommandTime expected;
  CommandTime found;
};

struct TimeComparison {
  std::int64_t commands = 0;
  std::int64_t mismatches = 0;  // commands of which one of the three cycles differs
  std::optional<TimeDivergence> first;
};

// Throws InternalError when the two have other numbers of commands.
TimeComparison compare_times(const CommandTimes& expected, const CommandTimes& found);

// "execute command 3 (conv2 tile 1, ...): start 10, free 20, done 30 expected, found start ..."
std::string time_divergence_text(const Program& program, const TimeDivergence& divergence);

}  // namespace qsim::cli
