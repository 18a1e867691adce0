// What a command's fields must satisfy by themselves: none without sense. That they fit their bits
// is certain, or there would be no such program.
#pragma once

#include "compiler/verifier/violations.h"

namespace qsim::verifier {

void check_fields(const Program& program, Violations& violations);

}  // namespace qsim::verifier
