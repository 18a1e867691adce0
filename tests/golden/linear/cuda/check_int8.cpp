// Layers with int8 activations on a GPU: compared with the CPU in every bit, and timed.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include "golden/device/copy_time.h"
#include "golden/kernels/linear/cuda/cuda_int8_linear.h"
#include "golden/kernels/linear/packed_linear.h"
#include "tests/golden/device/chosen_cases.h"
#include "tests/golden/linear/cuda/late_linear.h"
#include "tests/golden/linear/cuda/linear_check_commands.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden_test {
namespace {

using namespace golden;

constexpr int kMostDescribed = 10;

struct Counts {
  std::map<std::string, std::int64_t> runs, wrong;  // by kernel
  std::int64_t values = 0, mismatches = 0;
};

constexpr std::int64_t kMostFeaturesOfWide = 60;

// A tenth of the cases has up to 8192 input features, a tenth up to 300 rows, and a few have very
// many output features.
Int8LinearCase case_of(std::uint64_t seed, const RandomLinearOptions& options) {
  Random random(seed);
  if (random.chance(0.03) && options.most_rows >= 40) {
    return random_int8_case(random, 100, kMostFeaturesOfWide, kWideOutFeatures);
  }
  const bool is_long = random.chance(0.1) && options.most_features >= 1000;
  const bool is_high = random.chance(0.1) && options.most_rows >= 40;
  return random_int8_case(random, is_high ? 300 : options.most_rows,
                          is_long ? 8192 : options.most_features);
}

void describe(const LinearCase& one, const FloatMatrix& found, const FloatMatrix& expected,
              Int8LinearKernel kernel, std::uint64_t seed) {
  std::size_t at = 0;
  while (found.fp32_bits(at) == expected.fp32_bits(at)) ++at;
  std::cout << "seed " << seed << ", " << int8_linear_kernel_name(kernel) << ", x [" << one.x.rows
            << ", " << one.x.columns << "] " << float_type_name(one.x.type) << ", N "
            << one.weights.out_features << ", y " << float_type_name(one.y_type) << ": y[" << at
            << "] is " << std::hex << found.fp32_bits(at) << ", not " << expected.fp32_bits(at)
            << std::dec << "\n";
}

// y of the first of three ways that is not the expected one, as check_random_linear.cpp has them.
FloatMatrix first_wrong(const CudaInt8Linear& linear, const LateLinear& late,
                        const Int8LinearCase& tested, Int8LinearKernel kernel,
                        const FloatMatrix& expected) {
  const auto& [one, activations] = tested;
  const FloatMatrix there = linear.run(one.x, activations, one.y_type, kernel);
  if (there != expected) return there;
  for (const bool constant : {false, true}) {
    const FloatMatrix found = late.run_int8(one.x, activations, one.y_type, kernel, constant);
    if (found == expected) continue;
    std::cout << "with x written late, weights " << (constant ? "constant" : "written late")
              << "\n";
    return found;
  }
  return expected;
}

void compare(std::uint64_t seed, const RandomLinearOptions& options, ThreadTeam& team,
             ChosenCases& chosen, Counts& counts) {
  const auto [one, activations] = case_of(seed, options);
  chosen.add_work(macs_of(one));
  const FloatMatrix expected =
      PackedLinear(one.weights, one.bias).run_int8(one.x, activations, one.y_type, team);
  const CudaInt8Linear linear(one.weights, one.bias, 0);
  const LateLinear late(one.weights, one.bias, false);
  for (const Int8LinearKernel kernel : kInt8LinearKernels) {
    if (!linear.has(kernel)) continue;
    const std::string name(int8_linear_kernel_name(kernel));
    const FloatMatrix found = first_wrong(linear, late, {one, activations}, kernel, expected);
    ++counts.runs[name];
    counts.values += expected.rows * expected.columns;
    if (found == expected) continue;
    ++counts.wrong[name];
    if (++counts.mismatches <= kMostDescribed) describe(one, found, expected, kernel, seed);
  }
}

void print(const char* title, const std::map<std::string, std::int64_t>& counts) {
  std::cout << title;
  for (const auto& [kernel, count] : counts) std::cout << " " << kernel << " " << count;
  std::cout << "\n";
}

struct BenchCase {
  std::int64_t rows, in_features, out_features;
};

constexpr BenchCase kCases[] = {
    {1, 8192, 28672},  {1, 4096, 14336},  {1, 8192, 8192},   {1, 4096, 4096},  {1, 2048, 8192},
    {1, 1024, 4096},   {1, 512, 2048},    {2, 8192, 28672},  {8, 8192, 28672}, {16, 8192, 28672},
    {32, 8192, 28672}, {64, 8192, 28672}, {256, 8192, 28672}};

void time_case(const BenchCase& one, Int8LinearKernel kernel, const BenchLinearOptions& options) {
  const std::string name = std::to_string(one.in_features) + "x" +
                           std::to_string(one.out_features) + " M=" + std::to_string(one.rows) +
                           " fp16 " + std::string(int8_linear_kernel_name(kernel));
  if (name.find(options.only) == std::string::npos) return;
  LinearTimingCase timed;
  timed.rows = one.rows;
  timed.in_features = one.in_features;
  timed.out_features = one.out_features;
  timed.constant = !options.late;
  const std::vector<double> seconds = time_int8_linear(timed, kernel, 0);
  const std::int64_t bytes = linear_bytes(timed);
  const std::int64_t written = one.rows * one.out_features * 2;
  const double copy = time_copy(bytes - written, written, 0);
  std::printf("%-38s %9.2f us  (%.2f to %.2f)  copy of as many bytes %8.2f us\n", name.c_str(),
              seconds[seconds.size() / 2] * 1e6, seconds.front() * 1e6, seconds.back() * 1e6,
              copy * 1e6);
  std::fflush(stdout);
}

}  // namespace

ExitCode check_random_int8(const RandomLinearOptions& options, ChosenCases& chosen) {
  Counts counts;
  ThreadTeam team(1);
  for (int i = 0; i < options.count; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    if (chosen.begin(std::to_string(seed))) compare(seed, options, team, chosen, counts);
  }
  print("runs by family:", counts.runs);
  print("mismatching runs by family:", counts.wrong);
  std::cout << options.count << " layers with int8 activations, seeds " << options.seed << " to "
            << options.seed + static_cast<std::uint64_t>(options.count) - 1 << ", " << counts.values
            << " values compared, " << counts.mismatches << " mismatching runs\n";
  return chosen.end(counts.mismatches == 0 ? ExitCode::kOk : ExitCode::kMismatch);
}

ExitCode bench_int8(const BenchLinearOptions& options) {
  for (const BenchCase& one : kCases) {
    LinearTimingCase timed;
    timed.rows = one.rows;
    timed.in_features = one.in_features;
    timed.out_features = one.out_features;
    for (const Int8LinearKernel kernel : {Int8LinearKernel::kRows, Int8LinearKernel::kMatrix}) {
      if (has_int8_kernel(timed, kernel, 0)) time_case(one, kernel, options);
    }
  }
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
