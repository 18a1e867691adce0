// core/numerics/requantize.h and core/numerics/requantizer.h on the device, the latter through the
// function that kernels call: random psums on the GPU, compared with the host. Compiling it is a
// test of its own (no GPU needed). Exit codes: 0 equal, 1 different or a CUDA error, 77 no GPU.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "core/base/random.h"
#include "core/numerics/requantize.h"
#include "golden/graph/cuda/kernels/finish.cuh"
#include "tests/core/requantizer_oracle.h"

namespace {

using qsim::RequantizerRounding;
using qsim::RoundingMode;

struct ShiftCase {
  std::int32_t acc, bias, shift, zero_point, lo, hi;
  RoundingMode mode;

  __host__ __device__ std::int32_t on_either() const {
    return qsim::requantize(acc, bias, shift, mode, zero_point, lo, hi);
  }
  __device__ std::int32_t on_device() const { return on_either(); }
  std::int32_t on_host() const { return on_either(); }

  void print() const {
    std::printf("acc %d bias %d shift %d mode %d", acc, bias, shift, static_cast<int>(mode));
  }
};

struct ScaledCase {
  std::int32_t acc, fold, bias, zero_point, lo, hi;
  float scale;
  qsim::Requantizer requantizer;
  bool narrow;

  __device__ std::int32_t on_device() const {
    qsim::golden::cuda::OutputParams params;
    params.scale = &scale;
    params.scaled_rounding = requantizer.rounding;
    params.zero_point = zero_point;
    params.lo = lo;
    params.hi = hi;
    params.least = static_cast<float>(lo - zero_point);
    params.most = static_cast<float>(hi - zero_point);
    params.narrow = narrow;
    using qsim::golden::cuda::FinishKind;
    return qsim::golden::cuda::finish_as<FinishKind::kGeneral>(params, acc, {fold, bias, 0, scale});
  }
  std::int32_t on_host() const {
    const auto psum = static_cast<std::int32_t>(static_cast<std::uint32_t>(acc) +
                                                static_cast<std::uint32_t>(fold));
    return qsim::requantize(psum, narrow ? 0 : bias, requantizer, zero_point, lo, hi);
  }

  void print() const {
    std::printf("acc %d fold %d bias %d multiplier %u shift %d rounding %d narrow %d", acc, fold,
                bias, requantizer.multiplier, requantizer.shift,
                static_cast<int>(requantizer.rounding), narrow);
  }
};

template <typename Case>
__global__ void evaluate_all(const Case* cases, int count, std::int32_t* results) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) results[i] = cases[i].on_device();
}

template <typename Case>
void draw_range(qsim::Random& random, Case& c) {
  c.zero_point = static_cast<std::int32_t>(random.uniform(-128, 127));
  c.lo = static_cast<std::int32_t>(random.uniform(-128, 127));
  c.hi = static_cast<std::int32_t>(random.uniform(c.lo, 127));
}

std::int32_t any_int32(qsim::Random& random) {
  return static_cast<std::int32_t>(random.uniform(INT32_MIN, INT32_MAX));
}

void draw(qsim::Random& random, ShiftCase& c) {
  c.acc = any_int32(random);
  c.bias = any_int32(random);
  c.shift = static_cast<std::int32_t>(random.uniform(0, qsim::kMaxShift));
  draw_range(random, c);
  c.mode = static_cast<RoundingMode>(random.uniform(0, qsim::kRoundingModes - 1));
}

// Half of the scales take the psum near a tie between two levels.
void draw(qsim::Random& random, ScaledCase& c) {
  const std::int32_t psum = qsim::test::random_psum(random);
  c.fold = any_int32(random);
  c.acc = static_cast<std::int32_t>(static_cast<std::uint32_t>(psum) -
                                    static_cast<std::uint32_t>(c.fold));
  c.narrow = random.chance(0.6);
  c.bias = qsim::test::random_psum(random);
  const std::int64_t t = std::int64_t{psum} + (c.narrow ? 0 : c.bias);
  c.requantizer = t != 0 && random.chance(0.5) ? qsim::test::near_tie(random, t)
                                               : qsim::test::random_requantizer(random);
  c.scale = qsim::real_scale(c.requantizer);
  draw_range(random, c);
}

// The device's results; empty after a CUDA error, which is printed.
template <typename Case>
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

template <typename Case>
bool equal_on_both(std::uint64_t seed, std::size_t count) {
  qsim::Random random(seed);
  std::vector<Case> cases(count);
  for (Case& c : cases) draw(random, c);
  const std::vector<std::int32_t> results = run_on_device(cases);
  if (results.empty()) return false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::int32_t expected = cases[i].on_host();
    if (results[i] == expected) continue;
    std::printf("seed %llu, case %zu: ", static_cast<unsigned long long>(seed), i);
    cases[i].print();
    std::printf(": device %d, host %d\n", results[i], expected);
    return false;
  }
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  constexpr std::size_t kShifts = 1 << 20;
  constexpr std::size_t kScales = 1 << 22;
  if (!equal_on_both<ShiftCase>(7, kShifts) || !equal_on_both<ScaledCase>(8, kScales)) return 1;
  std::printf("%zu values equal on host and device\n", kShifts + kScales);
  return 0;
}
