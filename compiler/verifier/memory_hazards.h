// On-chip words in the order that the tokens guarantee: every read sees the write it is meant to
// see, no write overtakes a read, and nothing that was written is lost.
#pragma once

#include "compiler/verifier/token_order.h"

namespace qsim::verifier {

void check_hazards(const Program& program, const TokenOrder& order, Violations& violations);

}  // namespace qsim::verifier
