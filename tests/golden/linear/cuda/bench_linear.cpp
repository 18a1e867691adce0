#include <cstdio>
#include <string>

#include "golden/device/copy_time.h"
#include "golden/linear/cuda/cuda_linear.h"
#include "tests/golden/linear/cuda/linear_check_commands.h"

namespace qsim::golden_test {
namespace {

using namespace golden;

struct BenchCase {
  std::int64_t rows, in_features, out_features;
  int bits = 8;
  std::int64_t group_size = 0;
  FloatType type = FloatType::kFloat16;
};

constexpr BenchCase kCases[] = {
    {1, 8192, 28672},
    {1, 4096, 14336},
    {1, 8192, 8192},
    {1, 4096, 4096},
    {1, 2048, 8192},
    {1, 1024, 4096},
    {1, 512, 2048},
    {1, 8192, 28672, 4, 128},
    {16, 8192, 28672},
    {1, 8192, 28672, 8, 128},
    {1, 8192, 28672, 8, 32},
    {1, 28672, 8192},
    {1, 8192, 28672, 8, 0, FloatType::kBfloat16},
    {4, 8192, 28672},
    {64, 8192, 28672},
    {256, 8192, 28672},
};

std::string name_of(const BenchCase& one) {
  return std::to_string(one.in_features) + "x" + std::to_string(one.out_features) +
         " M=" + std::to_string(one.rows) + " " + std::string(float_type_name(one.type)) + " int" +
         std::to_string(one.bits) +
         (one.group_size == 0 ? "" : " g" + std::to_string(one.group_size));
}

void bench_case(const BenchCase& one, const BenchLinearOptions& options) {
  LinearTimingCase timed;
  timed.rows = one.rows;
  timed.in_features = one.in_features;
  timed.out_features = one.out_features;
  timed.bits = one.bits;
  timed.group_size = one.group_size;
  timed.type = timed.y_type = one.type;
  timed.stages = options.stages;
  timed.constant = !options.late;
  const std::vector<double> seconds = time_linear(timed, 0);
  const double median = seconds[seconds.size() / 2];
  const std::int64_t bytes = linear_bytes(timed);
  const std::int64_t written = one.rows * one.out_features * 2;
  const double read = time_copy(bytes - written, written, 0);
  std::printf("%-36s %9.2f us  (%.2f to %.2f)  %7.1f GB/s  copy of as many bytes %8.2f us\n",
              name_of(one).c_str(), median * 1e6, seconds.front() * 1e6, seconds.back() * 1e6,
              static_cast<double>(bytes) / median * 1e-9, read * 1e6);
  std::fflush(stdout);
}

}  // namespace

ExitCode bench_linear(const BenchLinearOptions& options) {
  for (const BenchCase& one : kCases) {
    if (name_of(one).find(options.only) != std::string::npos) bench_case(one, options);
  }
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
