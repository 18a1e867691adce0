// A layer as a sequence of steps in the order in which the array works, with every command field
// that comes from sizes and addresses in DRAM. Slots and tokens are the schedule's business.
#pragma once

#include <functional>
#include <optional>

#include "compiler/lowering/memory_plan.h"
#include "core/program.h"

namespace qsim {

// The end of a group: all psums of one tile and column block are complete.
struct GroupEnd {
  Load param;
  Post post;
  Store store;
};

// One EXECUTE and what it needs.
struct Step {
  std::optional<Load> act;  // an activation chunk that this EXECUTE is the first to use
  bool last_use_of_act = false;
  Load weight;
  Execute execute;
  bool starts_group = false;  // first EXECUTE of a tile and column block: overwrites the psums
  std::optional<GroupEnd> group_end;
  Origin origin;
};

// How many commands a layer's steps become, known before they are made.
struct StepCounts {
  std::int64_t steps = 0;  // as many EXECUTEs and LOADs of weights
  std::int64_t act_loads = 0;
  std::int64_t groups = 0;  // as many POSTs, STOREs and LOADs of parameters
};

StepCounts count_steps(const PlannedLayer& planned, const ArchConfig& arch);

// Visits a layer's steps in order, each made when its turn comes: a large layer has tens of
// thousands. `layer_index` is written into the origins.
void for_each_step(const PlannedLayer& planned, std::int32_t layer_index, const ArchConfig& arch,
                   const std::function<void(const Step&)>& visit);

}  // namespace qsim
