// The vector implementations of ArrayKernel; each needs a processor that has the instructions
// (vector_path.h) and the operand format it names. x86-64 only.
#pragma once

#include "sim/systemc/datapath/array_operands.h"

namespace qsim::sim {

void run_array_avx2(const LaneView& view);         // kSignedPairs
void run_array_avx_vnni(const LaneView& view);     // kBiasedBytes
void run_array_avx512_vnni(const LaneView& view);  // kBiasedBytes

}  // namespace qsim::sim
