// What a layer costs with a mapping: its cycles and DRAM bytes, exactly as an engine counts them.
// The schedule's commands go through the recurrence of sim/recurrence/ from the layer's boundary
// on, one by one; they are neither encoded nor kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "compiler/lowering/layer_cost.h"
#include "compiler/lowering/memory_plan.h"

namespace qsim::compiler {

// `mapping` must be valid for the layer (find_fault); `planned.mapping` is not read, and neither
// are addresses of `planned`, so they may still be 0. The time grows with the number of commands.
LayerCost cost_of(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch);

// How long the units work for a layer, and the least cycles that follow: from the end of the last
// EXECUTE's stream, from the end of the last POST's beats, from the free of the last LOAD and of
// the last STORE to the layer's end. All in cycles.
struct LayerWork {
  std::int64_t array = 0;
  std::int64_t after_array = 0;
  std::int64_t posts = 0;
  std::int64_t after_posts = 0;
  std::int64_t reads = 0;
  std::int64_t after_reads = 0;
  std::int64_t writes = 0;
  std::int64_t after_writes = 0;
};

// As cost_of, but nothing when the mapping takes more than `most_cycles`: the timing stops when the
// work that is left shows it. `work` is not more than the mapping's. Adds the commands that were
// timed to `commands`. Nothing either when `is_over`, asked after every kCommandsPerLook commands,
// says yes.
inline constexpr std::int64_t kCommandsPerLook = 4096;
std::optional<LayerCost> cost_within(const PlannedLayer& planned, const Mapping& mapping,
                                     const ArchConfig& arch, const LayerWork& work,
                                     std::int64_t most_cycles, std::int64_t& commands,
                                     const std::function<bool()>& is_over = nullptr);

}  // namespace qsim::compiler
