// Checks a Program without running it, independently of the lowering that made it: whatever it
// lets pass executes without leaving a memory, without deadlock, and with the same bytes in every
// order that the tokens allow. It does not know what the program is supposed to compute.
#pragma once

#include <string>
#include <vector>

#include "core/machine/program.h"

namespace qsim::compiler {

// What is wrong, each with unit, command number and origin; empty when the program is good for
// `arch`. At most 20, and a last line that says so when there were more. Checks that build on one
// another stop at the first stage with violations: fields and regions, tokens, hazards.
std::vector<std::string> verify(const Program& program, const ArchConfig& arch);

}  // namespace qsim::compiler
