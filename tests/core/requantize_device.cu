// core/requantize.h on the device: random psums through requantize on the GPU, compared with the
// host. Compiling it is a test of its own (no GPU needed). Exit codes: 0 equal, 1 different or a
// CUDA error, 77 no GPU.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "core/random.h"
#include "core/requantize.h"

namespace {

using qsim::RoundingMode;

struct Case {
  std::int32_t acc, bias, shift, zero_point, lo, hi;
  RoundingMode mode;
};

__host__ __device__ std::int32_t evaluate(const Case& c) {
  return qsim::requantize(c.acc, c.bias, c.shift, c.mode, c.zero_point, c.lo, c.hi);
}

__global__ void evaluate_all(const Case* cases, int count, std::int32_t* results) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) results[i] = evaluate(cases[i]);
}

std::vector<Case> random_cases(std::uint64_t seed, int count) {
  qsim::Random random(seed);
  std::vector<Case> cases(static_cast<std::size_t>(count));
  const auto int32 = [&](std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(random.uniform(low, high));
  };
  for (Case& c : cases) {
    c.acc = int32(INT32_MIN, INT32_MAX);
    c.bias = int32(INT32_MIN, INT32_MAX);
    c.shift = int32(0, qsim::kMaxShift);
    c.zero_point = int32(-128, 127);
    c.lo = int32(-128, 127);
    c.hi = int32(c.lo, 127);
    c.mode = static_cast<RoundingMode>(random.uniform(0, qsim::kRoundingModes - 1));
  }
  return cases;
}

// The device's results; empty after a CUDA error, which is printed.
std::vector<std::int32_t> run_on_device(const std::vector<Case>& cases) {
  const int count = static_cast<int>(cases.size());
  Case* device_cases = nullptr;
  std::int32_t* device_results = nullptr;
  std::vector<std::int32_t> results(cases.size());
  cudaError_t error = cudaMalloc(&device_cases, cases.size() * sizeof(Case));
  if (error == cudaSuccess) {
    error = cudaMalloc(&device_results, cases.size() * sizeof(std::int32_t));
  }
  if (error == cudaSuccess) {
    error =
        cudaMemcpy(device_cases, cases.data(), cases.size() * sizeof(Case), cudaMemcpyHostToDevice);
  }
  if (error == cudaSuccess) {
    evaluate_all<<<(count + 255) / 256, 256>>>(device_cases, count, device_results);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess) {
    error = cudaMemcpy(results.data(), device_results, cases.size() * sizeof(std::int32_t),
                       cudaMemcpyDeviceToHost);
  }
  cudaFree(device_cases);
  cudaFree(device_results);
  if (error == cudaSuccess) return results;
  std::printf("CUDA error: %s\n", cudaGetErrorString(error));
  return {};
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  constexpr std::uint64_t kSeed = 7;
  const std::vector<Case> cases = random_cases(kSeed, 1 << 20);
  const std::vector<std::int32_t> results = run_on_device(cases);
  if (results.empty()) return 1;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (results[i] == evaluate(cases[i])) continue;
    std::printf("seed %llu, case %zu: acc %d bias %d shift %d mode %d: device %d, host %d\n",
                static_cast<unsigned long long>(kSeed), i, cases[i].acc, cases[i].bias,
                cases[i].shift, static_cast<int>(cases[i].mode), results[i], evaluate(cases[i]));
    return 1;
  }
  std::printf("%zu values equal on host and device\n", cases.size());
  return 0;
}
