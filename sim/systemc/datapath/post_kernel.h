// The values of one POST: requantize, clamp and max-pool, as core/machine/isa/commands.h defines
// it. The paths are one piece of code that the compiler vectorises for different instruction sets;
// its rounding comes from core/numerics/requantize.h. With AVX-512 most commands have code of their
// own (post_kernel_avx512.cpp).
#pragma once

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"
#include "sim/systemc/datapath/scratchpads.h"
#include "sim/systemc/datapath/vector_path.h"

namespace qsim::sim {

void post_tile(const Post& post, const ArchConfig& arch, VectorPath path, Scratchpads& scratchpads);

}  // namespace qsim::sim
