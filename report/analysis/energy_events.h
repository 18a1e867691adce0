// The events that take energy, of each layer of a program. core/machine/energy_events.h counts
// those of a command.
#pragma once

#include <vector>

#include "core/machine/energy_events.h"
#include "core/machine/program.h"

namespace qsim::report {

// The sum of each program layer's commands, by their origins. Throws InternalError for an origin of
// no layer.
std::vector<EnergyEvents> energy_events(const Program& program);

}  // namespace qsim::report
