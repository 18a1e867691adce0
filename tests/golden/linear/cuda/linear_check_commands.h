// The commands of golden_linear_cuda_check.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace qsim::golden_test {

class ChosenCases;

struct RandomLinearOptions {
  int count = 1000;
  std::uint64_t seed = 1;
  std::int64_t most_rows = 20;
  std::int64_t most_features = 1200;
};

// Random layers on the GPU, by each kernel, compared with the CPU in every bit. Prints counts by
// kind of layer. kMismatch if one differs.
ExitCode check_random_linear(const RandomLinearOptions& options, ChosenCases& chosen);

// The same for layers with int8 activations.
ExitCode check_random_int8(const RandomLinearOptions& options, ChosenCases& chosen);

struct BenchLinearOptions {
  std::string only;    // cases whose name has it; empty: all
  int stages = 0;      // of the pipeline; 0: chosen
  std::string kernel;  // its name; empty: chosen
  bool late = false;   // the weights are read only after the launch before has ended
};

// Times with cold caches, beside a kernel that only reads as many bytes.
ExitCode bench_linear(const BenchLinearOptions& options);
ExitCode bench_int8(const BenchLinearOptions& options);

}  // namespace qsim::golden_test
