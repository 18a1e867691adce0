// How often, and when, each layer accesses its ifmap, weights and psums in the scratchpads, and its
// ifmap, weights and ofmap in DRAM: what other simulators report by operand.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/engine.h"
#include "core/machine/program.h"

namespace qsim::report {

// When and how much one operand is accessed in one memory. Cycles count from the beginning of the
// layer's window; both are 0 where nothing is accessed.
struct AccessWindow {
  std::uint64_t first_cycle = 0;  // in which the first command that accesses it starts
  std::uint64_t last_cycle = 0;   // before the last such command is done
  std::uint64_t elems = 0;        // int8; psums: int32
  bool operator==(const AccessWindow&) const = default;
};

// Scratchpads: what EXECUTEs read of ifmap and weights, and what they write to the accumulator.
// DRAM: LOADs of activations and of weights, STOREs; parameters are in none of them.
struct OperandAccesses {
  AccessWindow sram_ifmap;
  AccessWindow sram_weights;
  AccessWindow sram_psums;
  AccessWindow dram_ifmap;
  AccessWindow dram_weights;
  AccessWindow dram_ofmap;
  bool operator==(const OperandAccesses&) const = default;
};

// One entry for each program layer. `times` are those of the program's commands. Throws
// InternalError for a command whose origin is not a layer.
std::vector<OperandAccesses> operand_accesses(const Program& program, const CommandTimes& times);

}  // namespace qsim::report
