#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>

#include "core/base/error.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "golden/kernels/linear/packed_linear.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/linear/cuda/late_linear.h"
#include "tests/golden/linear/cuda/linear_check_commands.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden_test {
namespace {

using namespace golden;

struct Count {
  std::int64_t cases = 0;
  std::int64_t values = 0;
  std::int64_t mismatches = 0;  // cases
};

std::string kind_of(const LinearCase& one, CudaLinearKernel kernel) {
  const std::int64_t group = one.weights.group_size;
  return std::string(cuda_linear_kernel_name(kernel)) + " x " +
         std::string(float_type_name(one.x.type)) + ", " + std::to_string(one.weights.bits) +
         " bits, " + (group == 0 ? "by channel" : "groups of " + std::to_string(group));
}

void describe(const LinearCase& one, const FloatMatrix& found, const FloatMatrix& expected,
              CudaLinearKernel kernel, std::uint64_t seed) {
  std::size_t at = 0;
  while (found.fp32_bits(at) == expected.fp32_bits(at)) ++at;
  std::cout << "seed " << seed << ", " << kind_of(one, kernel) << ", x [" << one.x.rows << ", "
            << one.x.columns << "], N " << one.weights.out_features << ", y "
            << float_type_name(one.y_type) << (one.bias.empty() ? "" : ", bias") << ": y[" << at
            << "] is " << std::hex << found.fp32_bits(at) << ", not " << expected.fp32_bits(at)
            << std::dec << "\n";
}

constexpr std::int64_t kMostFeaturesOfWide = 60;

// A tenth of the cases has up to 8192 input features, and a few very many output features. Some
// have no zero_points: all are 8.
LinearCase case_of(std::uint64_t seed, const RandomLinearOptions& options) {
  Random random(seed);
  const bool is_wide = random.chance(0.03) && options.most_features >= 1000;
  const bool is_long = random.chance(0.1) && options.most_features >= 1000;
  LinearCase one =
      is_wide
          ? random_linear_case(random, options.most_rows, kMostFeaturesOfWide, kWideOutFeatures)
          : random_linear_case(random, options.most_rows, is_long ? 8192 : options.most_features);
  if (random.chance(0.3)) {
    std::fill(one.weights.zero_points.begin(), one.weights.zero_points.end(), std::uint8_t{8});
  }
  return one;
}

// y of the first of three ways that is not the expected one, or else the expected one: with x and
// weights that are there, and with x written late, with and without the weights.
FloatMatrix first_wrong(const CudaLinear& linear, const LateLinear& late, const LinearCase& one,
                        CudaLinearKernel kernel, const FloatMatrix& expected) {
  const FloatMatrix there = linear.run(one.x, one.y_type, kernel);
  if (there != expected) return there;
  for (const bool constant : {false, true}) {
    const FloatMatrix found = late.run(one.x, one.y_type, kernel, constant);
    if (found == expected) continue;
    std::cout << "with x written late, weights " << (constant ? "constant" : "written late")
              << "\n";
    return found;
  }
  return expected;
}

void print(const char* title, const std::map<std::string, std::int64_t>& counts) {
  std::cout << title;
  for (const auto& [kernel, count] : counts) std::cout << " " << kernel << " " << count;
  std::cout << "\n";
}

// Throws if a kernel that this GPU has was never run.
void check_that_all_ran(const std::map<std::string, std::int64_t>& runs) {
  LinearWeights one;
  one.out_features = one.in_features = 1;
  one.values = {1};
  one.scales = {1.0F};
  const CudaLinear linear(one, {}, 0);
  for (const CudaLinearKernel kernel : kCudaLinearKernels) {
    const std::string name(cuda_linear_kernel_name(kernel));
    if (runs.count(name) == 0 && linear.has(kernel)) {
      throw InternalError("no case met the kernel " + name);
    }
  }
}

}  // namespace

ExitCode check_random_linear(const RandomLinearOptions& options, ChosenCases& chosen) {
  constexpr int kLayersToMeetAll = 100;
  std::map<std::string, Count> counts;
  std::map<std::string, std::int64_t> runs;
  std::map<std::string, std::int64_t> wrong;
  ThreadTeam team(1);
  std::int64_t values = 0;
  std::int64_t mismatches = 0;
  for (int i = 0; i < options.count; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    if (!chosen.begin(std::to_string(seed))) continue;
    const LinearCase one = case_of(seed, options);
    chosen.add_work(macs_of(one));
    const FloatMatrix expected = PackedLinear(one.weights, one.bias).run(one.x, one.y_type, team);
    const CudaLinear linear(one.weights, one.bias, 0, seed % 2 == 0);
    const LateLinear late(one.weights, one.bias, seed % 2 == 0);
    for (const CudaLinearKernel kernel : kCudaLinearKernels) {
      if (!linear.has(kernel)) continue;
      Count& count = counts[kind_of(one, kernel)];
      const FloatMatrix found = first_wrong(linear, late, one, kernel, expected);
      ++count.cases;
      ++runs[std::string(cuda_linear_kernel_name(kernel))];
      count.values += expected.rows * expected.columns;
      values += expected.rows * expected.columns;
      if (found == expected) continue;
      ++count.mismatches;
      ++wrong[std::string(cuda_linear_kernel_name(kernel))];
      if (++mismatches <= 10) describe(one, found, expected, kernel, seed);
    }
  }
  for (const auto& [kind, count] : counts) {
    std::cout << std::setw(46) << std::left << kind << std::right << std::setw(8) << count.cases
              << " cases " << std::setw(10) << count.values << " values " << std::setw(6)
              << count.mismatches << " mismatching\n";
  }
  print("runs by family:", runs);
  if (mismatches > 0) print("mismatching runs by family:", wrong);
  std::cout << values << " values of " << options.count << " layers compared, seeds "
            << options.seed << " to "
            << options.seed + static_cast<std::uint64_t>(options.count) - 1 << ", " << mismatches
            << " mismatching runs\n";
  if (chosen.all() && options.count >= kLayersToMeetAll) check_that_all_ran(runs);
  return chosen.end(mismatches == 0 ? ExitCode::kOk : ExitCode::kMismatch);
}

}  // namespace qsim::golden_test
