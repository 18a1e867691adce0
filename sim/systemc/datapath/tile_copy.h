// The bytes that LOAD and STORE move, as core/machine/isa/commands.h defines them. When they move
// is up to load_unit and store_unit.
#pragma once

#include "core/machine/dram_memory.h"
#include "core/machine/isa/commands.h"
#include "sim/systemc/datapath/scratchpads.h"

namespace qsim::sim {

void load_tile(const Load& load, const ArchConfig& arch, DramMemory& dram,
               Scratchpads& scratchpads);
void store_tile(const Store& store, const ArchConfig& arch, Scratchpads& scratchpads,
                DramMemory& dram);

}  // namespace qsim::sim
