// Random commands that stay within an accelerator's memories, of every legal shape that a test can
// afford: what the kernels must get right, whether a compiler would emit it or not.
#pragma once

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

// A small accelerator with an array of `rows` x `cols`; valid.
ArchConfig small_arch(std::int64_t rows, std::int64_t cols);

Execute random_execute(Random& random, const ArchConfig& arch);
Post random_post(Random& random, const ArchConfig& arch);
// Reads from DRAM [first, last). `memory` 0 brings whole pixels.
Load random_load(Random& random, const ArchConfig& arch, LoadMemory memory, std::int64_t first,
                 std::int64_t last);
// Writes to DRAM [first, last).
Store random_store(Random& random, const ArchConfig& arch, std::int64_t first, std::int64_t last);

}  // namespace qsim
