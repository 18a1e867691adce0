// The times of all commands of a program, by recurrence.
#pragma once

#include <array>
#include <vector>

#include "core/machine/engine.h"
#include "core/machine/program.h"

namespace qsim::sim {

// By unit, as Program::streams. Throws Error for an invalid config, and InternalError as an engine
// does: for a deadlock (with who waits for what), for tokens left over, and as Recurrence::add.
std::array<std::vector<CommandTime>, kUnits> command_times(const Program& program);

}  // namespace qsim::sim
