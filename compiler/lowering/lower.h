// From fused layers to a Program: tiling, memory plan, constants, schedule.
#pragma once

#include <string>
#include <vector>

#include "compiler/passes/fused_layer.h"
#include "core/program.h"

namespace qsim {

// Throws Error (exit code 4) naming the layer when it does not fit the accelerator.
Program lower(const std::string& name, const std::vector<FusedLayer>& layers,
              const ArchConfig& arch);

}  // namespace qsim
