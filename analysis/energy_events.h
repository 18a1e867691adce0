// The events that take energy, of each layer of a program. core/energy_events.h counts those of a
// command.
#pragma once

#include <vector>

#include "core/energy_events.h"
#include "core/program.h"

namespace qsim {

// The sum of each program layer's commands, by their origins. Throws InternalError for an origin of
// no layer.
std::vector<EnergyEvents> energy_events(const Program& program);

}  // namespace qsim
