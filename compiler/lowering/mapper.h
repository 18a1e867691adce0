// Chooses each layer's mapping. A mapping's cycles are those of its commands (cost_of), not an
// estimate; bounds decide which mappings are worth timing. docs/reference/mapper.md has the space,
// the bounds and their proofs.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lowering/layer_timing.h"

namespace qsim {

// Bytes of a mapping are those that move between DRAM and the scratchpads, and those of its
// commands: kCommandBytes each. Engines and test benches work on every command, too.
inline constexpr std::int64_t kCommandBytes = 32;

enum class Objective : std::uint8_t {
  // Of the mappings within the slack of the fewest cycles: the least bytes.
  kCycles,
  kBytes,  // the least bytes
};

enum class MappingSearch : std::uint8_t {
  kFast,  // a bounded number of timings, of the mappings that the bounds rank first
  kFull,  // the best of the whole space
};

struct MapperOptions {
  Objective objective = Objective::kCycles;
  MappingSearch search = MappingSearch::kFast;
  double slack = 0.0005;  // of Objective::kCycles; at least 0
  Dataflow dataflow = Dataflow::kWeightStationary;
};

// What no mapping of the space can do better than.
struct LayerBounds {
  std::int64_t array_cycles = 0;     // MACs / PEs, rounded up
  std::int64_t dram_bytes = 0;       // ifmap, weights, parameters and ofmap, each once
  std::int64_t read_bus_cycles = 0;  // of the bytes read, each once
  std::int64_t write_bus_cycles = 0;
};

struct MappedLayer {
  Mapping mapping;
  LayerCost cost;
  std::int64_t candidates = 0;  // mappings that were looked at; a few are not valid
  std::int64_t timed = 0;       // of these, timed by cost_of
};

// The best mapping of a layer. `planned.mapping` is not read. Throws Error (exit code 4), naming
// the layer, when no mapping fits the accelerator: with what the smallest psum tile needs and what
// there is. The result depends on the arguments alone.
MappedLayer map_layer(const PlannedLayer& planned, const ArchConfig& arch,
                      const MapperOptions& options = {});

// Equal for layers, machines and options with equal mappings.
std::vector<std::int64_t> layer_key(const PlannedLayer& planned, const ArchConfig& arch,
                                    const MapperOptions& options);

LayerBounds layer_bounds(const PlannedLayer& planned, const ArchConfig& arch);

}  // namespace qsim
