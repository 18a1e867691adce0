// The commands of golden_train_forward_cuda_check.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace qsim::golden_test {

class ChosenCases;

struct RandomForwardOptions {
  int cases = 400;
  std::uint64_t seed = 1;
  std::string only;  // calls whose name has it; empty: all
};

// Random calls of the forward pass on the GPU, each compared with the CPU in every bit (sums of
// gradients: within a bound). Prints counts by call. kMismatch if one differs.
ExitCode check_random_forward(const RandomForwardOptions& options, ChosenCases& chosen);

struct BenchForwardOptions {
  std::string only;  // cases whose name has it; empty: all
};

// Medians with cold caches, beside what the device's memory or tensor cores allow.
ExitCode bench_forward(const BenchForwardOptions& options);

}  // namespace qsim::golden_test
