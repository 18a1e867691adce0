// The commands of golden_convert_cuda_check. Each prints what it did and returns whether the GPU
// gave the CPU's bits.
#pragma once

#include <cstdint>
#include <string>

namespace qsim::golden_test {

class ChosenCases;

struct RandomConversions {
  std::uint64_t count = 10000;  // of each format
  std::uint64_t seed = 1;       // of the first case
};
bool check_random_conversions(const RandomConversions& options, ChosenCases& chosen);

// Every FP16 and BF16 code to every format, and every FP8, FP4, INT8 and INT4 code back, by many
// scales.
bool check_every_input();

// A tensor of more than 2^31 elements: INT4 made on the GPU and read back to FP8.
bool check_large();

struct BenchConversions {
  std::int64_t bytes = std::int64_t{1} << 30;  // of the 16-bit side
  std::string only;                            // names with this text; "": all
};
void bench_conversions(const BenchConversions& options);

}  // namespace qsim::golden_test
