// Checks where the regions of DRAM are, and the addresses of each transfer by itself.
#pragma once

#include "compiler/verifier/violations.h"

namespace qsim::verifier {

// Input and ofmaps within the writable area and apart from each other, segments beyond it.
void check_regions(const Program& program, Violations& violations);

// Addresses and strides are multiples of a beat, and fit 32 bits.
void check_alignment(const Program& program, Violations& violations);

}  // namespace qsim::verifier
