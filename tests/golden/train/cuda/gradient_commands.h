// The commands of golden_train_gradient_cuda_check.
#pragma once

#include <cstdint>
#include <string>

namespace qsim::golden_test {

class ChosenCases;

struct RandomGradients {
  std::uint64_t cases = 200;
  std::uint64_t seed = 1;  // of the first case
  std::string plant;       // what the GPU is given otherwise: pads, zero_point, scale or passes
};
// Whether all were within their bounds, or the same bits; and the same bits in two runs.
bool check_random_gradients(const RandomGradients& options, ChosenCases& chosen);

struct BenchGradients {
  std::string only;  // cases whose name has this
};
void bench_gradients(const BenchGradients& options);

}  // namespace qsim::golden_test
