// Says who waits for what when a run has come to a halt with commands left.
#pragma once

#include <array>

#include "sim/systemc/command_unit.h"

namespace qsim {

// Throws InternalError unless every unit has started all its commands.
void check_all_started(const Program& program, const std::array<CommandUnit*, kUnits>& units,
                       const SemaphoreBank& semaphores);

}  // namespace qsim
