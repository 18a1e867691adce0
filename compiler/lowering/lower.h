// From a memory plan to a Program: constants and schedule.
#pragma once

#include <string>

#include "compiler/lowering/constants.h"
#include "compiler/lowering/memory_plan.h"
#include "core/program.h"

namespace qsim {

// Throws Error (exit code 4) naming the layer when a command does not fit its 256 bits. `on_spent`
// may free the weights that it is given.
Program lower(const std::string& name, const MemoryPlan& plan, const ArchConfig& arch,
              const OnSpentWeights& on_spent);

}  // namespace qsim
