// A random program that obeys the token rules: rounds of random legal commands, each round's tokens
// in a chain from LOAD to STORE, several rounds in flight. With the ofmap that the pseudo-code
// gives.
#pragma once

#include "core/machine/engine.h"

namespace qsim {

struct RandomProgram {
  Program program;
  Tensor input;
  std::vector<Tensor> ofmaps;
};

RandomProgram make_random_program(std::uint64_t seed);

}  // namespace qsim
