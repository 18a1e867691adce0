// Semaphores that order what needs no order: more waits, other overlaps, the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/core/program_draft.h"

namespace qsim {

// Of each command in an order of all commands that the tokens allow.
using CommandPositions = std::array<std::vector<std::size_t>, kUnits>;

// Makes `semaphore`, unused so far, one between two random units, or within one, with a random
// initial value, random signals and as many random waits. It holds nobody up for good: each wait
// comes after the signal whose token it takes, in the order of `positions`.
void add_noise(std::uint64_t seed, std::size_t semaphore, const CommandPositions& positions,
               ProgramDraft& program);

}  // namespace qsim
