// Every engine on one program: the same bytes from each, in any order, and times that add up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::fuzz {

// Ofmaps of the interpreter in program order. A finding when the interpreter in random order or
// the SystemC engine gives other ones, when an engine throws, or when the times do not add up.
// `program` must have passed verify().
std::vector<Tensor> run_everywhere(const Program& program, const Tensor& input, std::uint64_t seed);

}  // namespace qsim::fuzz
