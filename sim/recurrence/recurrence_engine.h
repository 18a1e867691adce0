// The engine that gives the times of a Program by recurrence: no data, no simulation. It is a
// witness of the SystemC engine's times and of the RTL's.
#pragma once

#include <memory>

#include "core/machine/engine.h"

namespace qsim::sim {

// Its run() throws InternalError when it is to move data.
std::unique_ptr<Engine> make_recurrence_engine();

}  // namespace qsim::sim
