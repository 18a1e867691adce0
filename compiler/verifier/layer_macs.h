#pragma once

#include "compiler/verifier/violations.h"

namespace qsim::verifier {

// A layer's useful MACs are no more than what its EXECUTEs stream through the array, every PE
// counted. The commands' fields must be good.
void check_macs(const Program& program, Violations& violations);

}  // namespace qsim::verifier
