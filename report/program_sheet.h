// What a Program holds, as a sheet: for `compile` and `inspect`.
#pragma once

#include "core/program.h"
#include "report/sheet.h"

namespace qsim {

// Facts (config, layers, commands, DRAM) and one row a layer: mapping, commands of each unit, DRAM
// bytes.
Sheet program_sheet(const Program& program);

}  // namespace qsim
