// What a command's fields must satisfy by themselves: encodable, and none without sense.
#pragma once

#include "compiler/verifier/violations.h"

namespace qsim::verifier {

void check_fields(const Program& program, Violations& violations);

}  // namespace qsim::verifier
