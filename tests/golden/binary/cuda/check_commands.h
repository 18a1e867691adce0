// The commands of golden_binary_cuda_check, which compares binary convolution on a GPU with
// golden/kernels/binary on a machine that has one. Each prints what it found and returns an exit
// code of core/base/error.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/error.h"

namespace qsim::golden_test {

class ChosenCases;

struct BinaryRandomOptions {
  std::int64_t count = 1000;
  std::uint64_t seed = 1;  // of the first case; the next case has the next seed
  bool small = false;      // small layers alone, for sanitizers
};

// Random layers on each path: y as floats, the stage's words, packed and unpacked numbers, all
// bits. kMismatch for a word that differs, after all cases; kInternal when nothing was compared, or
// when 2,000 or more cases did not meet every kernel that the device has.
ExitCode check_binary_random(const BinaryRandomOptions& options, ChosenCases& chosen);

// The trained networks in this folder (models/abc-cifar10) on each path, a layer's words to
// the next: every word of every layer is that of its emulation in float. kMismatch where one
// differs.
ExitCode check_binary_network(const std::filesystem::path& folder);

// Times of the layers of docs/measurements/gpu.md, words to words, with cold caches;
// each is compared with the CPU first.
ExitCode bench_binary(int runs);

}  // namespace qsim::golden_test
