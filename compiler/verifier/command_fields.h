// Checks each command's fields by themselves: every value must have a meaning. Every value fits its
// bits, since a program cannot hold one that does not.
#pragma once

#include "compiler/verifier/violations.h"

namespace qsim::verifier {

void check_fields(const Program& program, Violations& violations);

}  // namespace qsim::verifier
