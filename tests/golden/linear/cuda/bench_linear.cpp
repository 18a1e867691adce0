#include <cstdio>
#include <string>

#include "golden/device/copy_time.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "tests/golden/linear/cuda/linear_check_commands.h"

namespace qsim::golden_test {
namespace {

using namespace golden;

struct BenchCase {
  std::int64_t rows, in_features, out_features;
  int bits = 8;
  std::int64_t group_size = 0;
  FloatType type = FloatType::kFloat16;
  double target_us = 0;  // on an H200; 0: none
};

constexpr FloatType kHalf = FloatType::kFloat16;
constexpr BenchCase kCases[] = {
    {1, 8192, 28672, 8, 0, kHalf, 61},
    {1, 4096, 14336, 8, 0, kHalf, 17},
    {1, 8192, 8192, 8, 0, kHalf, 19},
    {1, 4096, 4096, 8, 0, kHalf, 6.5},
    {1, 2048, 8192, 8, 0, kHalf, 6.5},
    {1, 1024, 4096, 8, 0, kHalf, 3},
    {1, 512, 2048, 8, 0, kHalf, 2.2},
    {1, 8192, 28672, 4, 128, kHalf, 34},
    {16, 8192, 28672, 8, 0, kHalf, 68},
    {1, 8192, 28672, 8, 128},
    {1, 8192, 28672, 8, 32},
    {1, 8192, 28672, 4, 32},
    {1, 28672, 8192},
    {1, 28672, 8192, 4, 128},
    {16, 28672, 8192, 4, 128},
    {1, 8192, 28672, 8, 0, FloatType::kBfloat16},
    {2, 8192, 28672},
    {4, 8192, 28672},
    {16, 4096, 4096},
    {16, 8192, 28672, 4, 128},
    {64, 8192, 28672},
    {256, 8192, 28672},
};

std::string name_of(const BenchCase& one) {
  return std::to_string(one.in_features) + "x" + std::to_string(one.out_features) +
         " M=" + std::to_string(one.rows) + " " + std::string(float_type_name(one.type)) + " int" +
         std::to_string(one.bits) +
         (one.group_size == 0 ? "" : " g" + std::to_string(one.group_size));
}

// kAuto for "".
CudaLinearKernel kernel_named(const std::string& name) {
  for (const CudaLinearKernel kernel : kCudaLinearKernels) {
    if (cuda_linear_kernel_name(kernel) == name) return kernel;
  }
  return CudaLinearKernel::kAuto;
}

LinearTimingCase timing_of(const BenchCase& one, const BenchLinearOptions& options, bool constant) {
  LinearTimingCase timed;
  timed.rows = one.rows;
  timed.in_features = one.in_features;
  timed.out_features = one.out_features;
  timed.bits = one.bits;
  timed.group_size = one.group_size;
  timed.type = timed.y_type = one.type;
  timed.stages = options.stages;
  timed.kernel = kernel_named(options.kernel);
  timed.constant = constant;
  return timed;
}

// Seconds, median; `constant`: the weights may be read while the launch before still runs.
double time_case(const BenchCase& one, const BenchLinearOptions& options, bool constant) {
  const std::vector<double> seconds = time_linear(timing_of(one, options, constant), 0);
  return seconds[seconds.size() / 2];
}

// Targets that are met.
struct Met {
  int constant = 0, changing = 0;
};

// Prints a row.
void bench_case(const BenchCase& one, const BenchLinearOptions& options, Met& met) {
  const std::int64_t bytes = linear_bytes(timing_of(one, options, true));
  const std::int64_t written = one.rows * one.out_features * 2;
  const double constant = time_case(one, options, true);
  const double changing = time_case(one, options, false);
  const double copy = time_copy(bytes - written, written, 0);
  const auto is_met = [&](double seconds) { return seconds * 1e6 <= one.target_us; };
  std::printf("%-36s %10.2f %10.2f %10.2f %10.1f", name_of(one).c_str(), constant * 1e6,
              changing * 1e6, copy * 1e6, static_cast<double>(bytes) / constant * 1e-9);
  if (one.target_us > 0)
    std::printf(" %8.1f %s", one.target_us, is_met(constant) ? "met" : "missed");
  std::printf("\n");
  std::fflush(stdout);
  met.constant += is_met(constant) ? 1 : 0;
  met.changing += is_met(changing) ? 1 : 0;
}

}  // namespace

ExitCode bench_linear(const BenchLinearOptions& options) {
  std::printf("%-36s %10s %10s %10s %10s %8s\n", "us; medians", "constant", "changing", "copy",
              "GB/s", "target");
  Met met;
  int targets = 0;
  for (const BenchCase& one : kCases) {
    if (name_of(one).find(options.only) == std::string::npos) continue;
    bench_case(one, options, met);
    if (one.target_us > 0) ++targets;
  }
  std::printf(
      "%d of %d targets met with constant weights, which are read while the launch before runs, "
      "and "
      "%d with changing ones\n",
      met.constant, targets, met.changing);
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
