// Test vectors of a program: the inputs that a test bench gives to the accelerator, and the outputs
// that it must see, byte by byte and cycle by cycle. No files; those are vector_files.h.
#pragma once

#include <vector>

#include "core/machine/engine.h"

namespace qsim::cli {

struct Vectors {
  std::vector<std::byte> dram_before;  // from address 0, whole bus words
  std::vector<std::byte> dram_after;
  std::array<std::vector<CommandTime>, kUnits> times;
  std::vector<Tensor> ofmaps;  // of every program layer, NHWC
  std::uint64_t total_cycles = 0;
};

// Bytes by the interpreter, cycles by the SystemC model, whose ofmaps must be the same: throws
// InternalError where they are not. Throws Error for a DRAM image too large for a file.
Vectors make_vectors(const Program& program, const Tensor& input);

}  // namespace qsim::cli
