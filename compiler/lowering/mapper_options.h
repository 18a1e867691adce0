// What is asked of the mapper, and what it answers for a layer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "compiler/lowering/layer_cost.h"
#include "core/machine/energy_table.h"
#include "core/machine/mapping.h"

namespace qsim::compiler {

// docs/reference/mapping.md#what-is-best defines each.
enum class Objective : std::uint8_t {
  // Of the mappings within the slack of the fewest cycles: the least bytes, with 32 for a command.
  kCycles,
  kBytes,   // the least DRAM bytes
  kEnergy,  // the least energy
  kEdp,     // the least product of energy and cycles
};

enum class MappingSearch : std::uint8_t {
  kFast,  // a bounded number of timings, of the mappings that the bounds rank first
  kFull,  // the best of the whole space
};

struct MapperOptions {
  Objective objective = Objective::kCycles;
  MappingSearch search = MappingSearch::kFast;
  double slack = 0.0005;  // of Objective::kCycles, a fraction; at least 0
  Dataflow dataflow = Dataflow::kWeightStationary;
  // Of kEnergy and kEdp, which need one.
  std::shared_ptr<const EnergyTable> energy = nullptr;
  // Asked before a mapping is timed; the search ends when it says yes. A full search first does all
  // that a fast one does, and any search times one mapping. Asked while a mapping is timed that has
  // more commands than a fast search times: that timing ends, and the mapping has its bounds as its
  // cost. Empty: no search ends early.
  std::function<bool()> is_over = nullptr;
  // is_over ends such a timing and nothing else: of the fast search that a full one begins with.
  bool ends_long_timings_alone = false;
  // Called now and then with the number of mappings that were timed. May be empty.
  std::function<void(std::int64_t timed)> on_progress = nullptr;
};

struct MappedLayer {
  Mapping mapping;
  LayerCost cost;
  double amount = 0;               // ObjectiveAmount::exact() of it
  std::int64_t fewest_cycles = 0;  // of all mappings that were timed
  std::int64_t candidates = 0;     // mappings that were looked at; a few are not valid
  std::int64_t timed = 0;          // of these, timed by cost_of
  // Whether is_over did not end the search.
  bool is_complete = true;
};

}  // namespace qsim::compiler
