// What a program makes a simulator do: multiplications, weights and activations with the zeros that
// fill the array, beside what its layers need; and how long its EXECUTEs alone take.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/machine/engine.h"
#include "core/machine/program.h"

namespace qsim::bench {

struct ProgramWork {
  std::uint64_t useful_macs = 0;
  std::uint64_t streamed_macs = 0;  // of every PE, zeros included
  std::uint64_t weight_bytes = 0;   // that LOADs of weights move, zeros included; repeats too
  std::uint64_t executes = 0;       // commands
  std::uint64_t cycles = 0;         // of the layers' windows
};

// Whether a program layer counts.
using LayerFilter = std::function<bool(std::size_t layer)>;

// `times` are those of a run.
ProgramWork work_of(const Program& program,
                    const std::array<std::vector<CommandTime>, kUnits>& times,
                    const LayerFilter& counts);

// Processor seconds of the counted layers' EXECUTEs one after the other, on operands of any bytes,
// with the best vector path. Activations are laid out anew for each tile.
double execute_seconds(const Program& program, const LayerFilter& counts);

}  // namespace qsim::bench
