// From a memory plan to a Program: schedule and constants.
#pragma once

#include <string>

#include "compiler/lowering/constants.h"
#include "compiler/lowering/memory_plan.h"
#include "core/machine/program.h"

namespace qsim::compiler {

// The program without its segments, which are weights and parameters: all commands are there.
// Throws Error (exit code 4) naming the layer when a command does not fit its 256 bits.
Program lower_commands(const std::string& name, const MemoryPlan& plan, const ArchConfig& arch);

// The whole program. Throws Error (exit code 4) naming the layer when a command does not fit its
// 256 bits. `on_spent` may free the weights that it is given.
Program lower(const std::string& name, const MemoryPlan& plan, const ArchConfig& arch,
              const OnSpentWeights& on_spent);

}  // namespace qsim::compiler
