// The vector implementations behind ArrayKernel; each needs a processor that has the instructions
// (vector_path.h) and the operand format it names. x86-64 only.
#pragma once

#include "sim/systemc/datapath/array_operands.h"

namespace qsim {

void run_array_avx2(const LaneView& view);  // kSignedPairs
void run_array_vnni(const LaneView& view);  // kBiasedBytes

}  // namespace qsim
