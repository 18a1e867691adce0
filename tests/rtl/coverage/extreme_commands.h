// Commands that no program has, for coverage: any value in every field, so that the highest bits of
// addresses, strides and counts change, run on a core by itself for a while and cut off by a reset.
#pragma once

#include "core/arch_config.h"
#include "core/random.h"
#include "rtl/engine/core_abi.h"

namespace qsim {

// Resets `core`, gives unit `seed` modulo 4 up to four such commands, or many transfers of a beat
// to a memory that is silent at first, and runs `cycles` cycles; the memory answers at random. The
// core is left as it is then, in the middle. Throws InternalError when an assertion of the RTL
// fails, or when the first burst is not at the command's address.
void run_extreme_commands(RtlCore& core, const ArchConfig& arch, std::uint64_t seed,
                          std::uint64_t cycles);

}  // namespace qsim
