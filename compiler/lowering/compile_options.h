// What the user asks of the compiler, besides the graph and the accelerator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/mapping.h"

namespace qsim {

// Mappings that were chosen, by what they depend on (layer_key() in compiler/lowering/mapper.h):
// networks have equal layers, and a network is planned more than once.
using KnownMappings = std::map<std::vector<std::int64_t>, Mapping>;

struct CompileOptions {
  // Of the layers that they name; the compiler chooses those of the others.
  std::vector<LayerMapping> mappings;
  // Of every layer whose mapping the compiler chooses.
  std::optional<Dataflow> dataflow;
  // Whether the host may lay the taps of the first layer's window side by side as channels; not
  // where the graph's input is the ofmap of a layer that is not in the graph.
  bool host_packs_taps = true;
  // Shared by copies of these options, so that a network's layers are searched once.
  std::shared_ptr<KnownMappings> known = std::make_shared<KnownMappings>();
};

}  // namespace qsim
