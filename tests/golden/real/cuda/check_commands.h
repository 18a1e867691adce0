#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace qsim::golden_test {

class ChosenCases;

struct RealRandomOptions {
  std::int64_t count = 1000;
  std::uint64_t seed = 1;  // of the first case; the next case has the next seed
  bool small = false;      // small networks alone, for sanitizers
};

// Random float networks: every tensor of each has the bits of the CPU. kMismatch for a tensor that
// differs, after all cases; kInternal when nothing was compared, when most numbers are zeros, or
// when 400 or more cases did not meet every kernel.
ExitCode check_real_random(const RealRandomOptions& options, ChosenCases& chosen);

// Times of VGG-8 (CIFAR-10) in float32 with random weights: a whole run, and its kernels alone;
// compared with the CPU first.
ExitCode bench_real(int runs);

}  // namespace qsim::golden_test
