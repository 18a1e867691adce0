// The engine without time: executes a Program by the pseudo-code of core/machine/isa/commands.h,
// command by command. It is the trusted meaning of a Program; nothing of it is shared with sim/.
#pragma once

#include <memory>

#include "core/machine/engine.h"

namespace qsim::sim {

// Round robin order, memories zero at the start. With `random_order` the units run in an order
// drawn from RunOptions::seed, effects and signals of a command are held back for a random while,
// and the memories start with garbage: a token that is missing shows as wrong bytes.
std::unique_ptr<Engine> make_program_interpreter(bool random_order = false);

}  // namespace qsim::sim
