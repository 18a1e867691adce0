// What the user asks of the compiler, besides the graph and the accelerator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/lowering/mapper_options.h"
#include "compiler/passes/refusal.h"

namespace qsim::compiler {

// Mappings that were chosen, by what they depend on (layer_key() in compiler/lowering/mapper.h):
// networks have equal layers, and a network is planned more than once.
using KnownMappings = std::map<std::vector<std::int64_t>, MappedLayer>;

// How far a compilation is that chooses mappings.
struct MappingProgress {
  std::string_view layer;  // its name
  std::int64_t index = 0;  // of `layers`, from 0
  std::int64_t layers = 0;
  std::int64_t timed = 0;  // mappings of this layer so far
};

// Whether tensors that are not needed at the same time share bytes of DRAM. Cycles and bytes moved
// are the same either way.
enum class DramPlan : std::uint8_t {
  kAuto,      // kSeparate for a chain, else kLifetime
  kLifetime,  // they do
  kSeparate,  // each has a region of its own: after a run DRAM has every ofmap
};

struct CompileOptions {
  // Of the layers that they name; the compiler chooses those of the others.
  std::vector<LayerMapping> mappings;
  // Of every layer whose mapping the compiler chooses; in place of `mapper.dataflow`.
  std::optional<Dataflow> dataflow;
  // Whether the host may lay the taps of the first layer's window side by side as channels; not
  // where the graph's input is the ofmap of a layer that is not in the graph.
  bool host_packs_taps = true;
  // Instead, the best dataflow of each layer (choose_mappings() in network_mapping.h).
  bool mixes_dataflows = false;
  DramPlan dram_plan = DramPlan::kAuto;
  // What is best, and how it is searched. `on_progress` and `is_over` are set for each layer.
  MapperOptions mapper = {};
  // Of all searches of a compilation together; 0: as many as they take. Then the choice depends on
  // how fast the machine is.
  double budget_seconds = 0;
  // In seconds, what budget_seconds is measured with. Empty: the steady clock.
  std::function<double()> clock = nullptr;
  // Called before each search and now and then while it runs. May be empty.
  std::function<void(const MappingProgress&)> on_progress = nullptr;
  // What errors recommend.
  Remedies remedies = {};
  // Shared by copies of these options, so that a network's layers are searched once.
  std::shared_ptr<KnownMappings> known = std::make_shared<KnownMappings>();
};

}  // namespace qsim::compiler
