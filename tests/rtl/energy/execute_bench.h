// Runs one EXECUTE on the Verilated execute unit and records what its PEs' registers hold after
// each cycle. It knows nothing of formulas: the data are its own, so that one operand can be made
// another.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/isa/commands.h"

namespace qsim::test {

struct ArrayShape {
  std::size_t rows;
  std::size_t cols;
};

// Which bytes of the words that the unit reads are others than usual: those of word `word` from
// `first_byte` on, in the order of reads. `kPad`: the command's pad value.
struct Changed {
  enum class What { kNothing, kActivation, kWeight, kPad } what = What::kNothing;
  std::size_t word = 0;
  std::size_t first_byte = 0;
  std::size_t bytes = 1;
};

// The registers of all PEs after a cycle.
struct Registers {
  std::vector<std::uint32_t> operands;  // the activation, the shadow weight, the weight in use
  std::vector<std::uint32_t> sums;      // that stay: output_stationary
  std::vector<std::uint32_t> psums;     // that move
};

struct Recorded {
  std::vector<Registers> cycles;
  std::size_t activation_reads = 0;
  std::size_t weight_reads = 0;
  std::size_t accumulator_reads = 0;
  std::size_t accumulator_writes = 0;
};

Recorded record(ArrayShape shape, const Execute& execute, const Changed& changed);

// The width of a psum register, in the narrowest array that has the dataflow.
std::uint64_t psum_register_bits(ArrayShape shape, Dataflow dataflow);

// How often a register takes over a value that depends on what is changed, by kind. A register
// that goes on holding it takes it over once.
struct TakenOver {
  std::uint64_t operands = 0;
  std::uint64_t sums = 0;
  std::uint64_t psums = 0;
};
TakenOver taken_over(const Recorded& usual, const Recorded& other);

}  // namespace qsim::test
