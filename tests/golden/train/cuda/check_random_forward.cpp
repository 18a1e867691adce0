#include <iostream>

#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/train/cuda/forward_cases.h"
#include "tests/golden/train/cuda/forward_check_commands.h"

namespace qsim::golden_test {
namespace {

struct CheckedCall {
  const char* name;
  std::string (*check)(Random& random, CallBuffers& buffers);  // a difference; empty: none
};

constexpr CheckedCall kCalls[] = {
    {"observe", observe_case},
    {"quantize_levels", quantize_levels_case},
    {"quantize_weights", quantize_weights_case},
    {"conv_real", conv_real_case},
    {"conv_levels", conv_levels_case},
    {"conv_statistics", conv_statistics_case},
    {"conv_gradient_sums", conv_gradient_sums_case},
    {"conv_normalize_gradient", conv_normalize_gradient_case},
    {"max_pool", max_pool_case},
};

}  // namespace

ExitCode check_random_forward(const RandomForwardOptions& options, ChosenCases& chosen) {
  int wrong = 0;
  int compared = 0;
  for (const CheckedCall& call : kCalls) {
    if (std::string(call.name).find(options.only) == std::string::npos) continue;
    int wrong_of_call = 0;
    for (int i = 0; i < options.cases; ++i) {
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
      if (!chosen.begin(call.name + ("." + std::to_string(seed)))) continue;
      Random random(seed);
      CallBuffers buffers;
      const std::string difference = call.check(random, buffers);
      if (difference.empty()) continue;
      if (++wrong_of_call <= 5) {
        std::cout << call.name << ", seed " << seed << ": " << difference << "\n";
      }
    }
    std::cout << call.name << ": " << options.cases << " cases, " << wrong_of_call << " mismatching"
              << std::endl;
    wrong += wrong_of_call;
    compared += options.cases;
  }
  std::cout << compared << " calls compared, seeds " << options.seed << " to "
            << options.seed + static_cast<std::uint64_t>(options.cases) - 1 << ", " << wrong
            << " mismatching\n";
  return chosen.end(wrong == 0 ? ExitCode::kOk : ExitCode::kMismatch);
}

}  // namespace qsim::golden_test
