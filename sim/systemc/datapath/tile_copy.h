// The bytes that LOAD and STORE move, as core/isa/commands.h defines them. When they move is up to
// load_unit and store_unit.
#pragma once

#include "core/dram_memory.h"
#include "core/isa/commands.h"
#include "sim/systemc/datapath/scratchpads.h"

namespace qsim {

void load_tile(const Load& load, const ArchConfig& arch, DramMemory& dram,
               Scratchpads& scratchpads);
void store_tile(const Store& store, const ArchConfig& arch, Scratchpads& scratchpads,
                DramMemory& dram);

}  // namespace qsim
