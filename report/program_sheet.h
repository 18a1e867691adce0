// What a Program holds, as a sheet: for `compile` and `inspect`.
#pragma once

#include "core/machine/program.h"
#include "report/sheet.h"

namespace qsim::report {

// Facts (config, layers, commands, DRAM) and one row a layer: mapping, commands of each unit, DRAM
// bytes. `dram_bytes` is where its DRAM ends; commands without constants do not tell.
Sheet program_sheet(const Program& program, std::int64_t dram_bytes);

}  // namespace qsim::report
