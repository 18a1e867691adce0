// The memories that the interpreter runs a Program on, sized from its ArchConfig. No time, no
// tokens.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/machine/dram_memory.h"
#include "core/machine/isa/commands.h"

namespace qsim::sim::interpreter {

struct Machine {
  // On-chip memories zero, DRAM as at the start of a run. `program` must outlive this object.
  Machine(const Program& program, const Tensor& input);

  ArchConfig arch;
  std::vector<std::int8_t> act;                                            // [word][R]
  std::vector<std::int8_t> weight;                                         // [word][B]
  std::array<std::vector<std::uint32_t>, kAccumulatorHalves> accumulator;  // [half][word][C]
  std::vector<std::int8_t> out;                                            // [word][C]
  std::array<std::vector<std::uint8_t>, kParamSlots> params;               // [slot][byte]
  std::array<std::array<std::int8_t, kTableBytes>, kParamSlots> tables{};  // [slot][level's byte]
  DramMemory dram;
};

// Overwrites every on-chip byte, so that a read of something never written is seen.
void fill_with_garbage(Machine& machine, Random& random);

}  // namespace qsim::sim::interpreter
