// What a layer costs with a mapping: its cycles and DRAM bytes, exactly as an engine counts them.
// The schedule's commands go through the recurrence of timing/ from the layer's boundary on, one by
// one; they are neither encoded nor kept.
#pragma once

#include <cstdint>

#include "compiler/lowering/memory_plan.h"

namespace qsim {

struct LayerCost {
  std::uint64_t cycles = 0;  // from the boundary to the last STORE's done
  std::uint64_t act_read_bytes = 0;
  std::uint64_t weight_read_bytes = 0;
  std::uint64_t param_read_bytes = 0;
  std::uint64_t write_bytes = 0;  // of DRAM, as those read
  std::uint64_t commands = 0;

  std::uint64_t read_bytes() const { return act_read_bytes + weight_read_bytes + param_read_bytes; }
  bool operator==(const LayerCost&) const = default;
};

// `mapping` must be valid for the layer (find_fault); `planned.mapping` is not read, and neither
// are addresses of `planned`, so they may still be 0. The time grows with the number of commands.
LayerCost cost_of(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch);

}  // namespace qsim
