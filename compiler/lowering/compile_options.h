// What the user asks of the compiler, besides the graph and the accelerator.
#pragma once

#include <optional>
#include <vector>

#include "core/mapping.h"

namespace qsim {

struct CompileOptions {
  // Of the layers that they name; the compiler chooses those of the others.
  std::vector<LayerMapping> mappings;
  // Of every layer whose mapping the compiler chooses.
  std::optional<Dataflow> dataflow;
};

}  // namespace qsim
