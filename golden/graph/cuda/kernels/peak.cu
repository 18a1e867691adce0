// The two ceilings of a device, measured: int8 products of the tensor cores on random operands, and
// bytes of a copy.
#include <algorithm>
#include <vector>

#include "core/base/random.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/hopper.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/graph/cuda/peak.h"

namespace qsim::golden {
namespace {

using cuda::check;
using cuda::DeviceBuffer;

constexpr int kRuns = 9;
constexpr int kThreads = 256;
constexpr int kRowsOfA = 128;
constexpr int kRowsOfB = 256;
constexpr int kRowBytes = 128;
constexpr int kOperandBytes = (kRowsOfA + kRowsOfB) * kRowBytes;
constexpr double kSecondsOfWarmUp = 0.3;  // until power and clocks have settled

// Operations of one block and iteration.
constexpr double kHopperOps = 2.0 * kRowsOfA * kRowsOfB * kRowBytes;
constexpr double kPortableOps = 2.0 * 16 * 8 * 32 * 8 * (kThreads / 32);

// Two warpgroups multiply [64][128] by [256][128] over and over, from shared memory.
__global__ void __launch_bounds__(kThreads, 1)
    hopper_products(const std::uint8_t* operands, int iterations, std::int32_t* sink) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t shared[];
  const std::uint32_t start = (cuda::shared_address(shared) + 1023) / 1024 * 1024;
  for (int i = static_cast<int>(threadIdx.x) * 4; i < kOperandBytes; i += kThreads * 4) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(start + static_cast<std::uint32_t>(i)),
                 "r"(*reinterpret_cast<const std::uint32_t*>(operands + i))
                 : "memory");
  }
  cuda::fence_shared_for_wgmma();
  __syncthreads();
  const int group = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 128, 0);
  const std::uint64_t a = cuda::operand<kRowBytes>(
      start + static_cast<std::uint32_t>(group * 64 * kRowBytes), 8 * kRowBytes);
  const std::uint64_t b = cuda::operand<kRowBytes>(start + kRowsOfA * kRowBytes, 8 * kRowBytes);
  std::int32_t acc[128] = {};
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
    cuda::wgmma_fence();
#pragma unroll
    for (std::uint64_t k = 0; k < 4; ++k) cuda::wgmma<256, false>(acc, a + 2 * k, b + 2 * k, 1);
    cuda::wgmma_commit();
    cuda::wgmma_wait<1>();
  }
  cuda::wgmma_wait<0>();
  cuda::pin(acc);
  std::int32_t sum = 0;
#pragma unroll
  for (const std::int32_t value : acc) sum ^= value;
  sink[blockIdx.x * kThreads + threadIdx.x] = sum;
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

// Each warp multiplies [16][32] by [32][8] in eight independent accumulators.
__global__ void portable_products(const std::uint8_t* operands, int iterations,
                                  std::int32_t* sink) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(operands) + threadIdx.x * 8;
  const std::uint32_t a[4] = {words[0], words[1], words[2], words[3]};
  std::int32_t acc[8][4] = {};
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (auto& tile : acc) cuda::multiply_a<false>(tile, a, words[4], words[5]);
  }
  std::int32_t sum = 0;
#pragma unroll
  for (const auto& tile : acc) sum ^= tile[0] ^ tile[1] ^ tile[2] ^ tile[3];
  sink[blockIdx.x * kThreads + threadIdx.x] = sum;
}

class Events {
 public:
  Events() {
    check(cudaEventCreate(&start_), "creating an event");
    check(cudaEventCreate(&end_), "creating an event");
  }
  ~Events() {
    cudaEventDestroy(start_);
    cudaEventDestroy(end_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  template <typename Work>
  double seconds(Work work) {
    check(cudaEventRecord(start_), "recording an event");
    work();
    check(cudaGetLastError(), "launching");
    check(cudaEventRecord(end_), "recording an event");
    check(cudaEventSynchronize(end_), "measuring");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, end_), "measuring");
    return milliseconds / 1000.0;
  }

  // The median of kRuns after a warm-up.
  template <typename Work>
  double median_seconds(Work work) {
    for (double warm = 0; warm < kSecondsOfWarmUp;) warm += seconds(work);
    std::vector<double> times;
    for (int i = 0; i < kRuns; ++i) times.push_back(seconds(work));
    std::sort(times.begin(), times.end());
    return times[kRuns / 2];
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

cudaDeviceProp properties(int device) {
  cudaDeviceProp found{};
  check(cudaSetDevice(device), "choosing the device");
  check(cudaGetDeviceProperties(&found, device), "asking for the device's properties");
  return found;
}

}  // namespace

double measure_peak_int8_ops(int device) {
  const cudaDeviceProp found = properties(device);
  Random random(1);
  std::vector<std::uint8_t> bytes(kOperandBytes);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next() >> 40);
  const DeviceBuffer operands = cuda::upload(bytes);
  const bool hopper = found.major == 9;
  const int blocks = found.multiProcessorCount * (hopper ? 1 : 4);
  const DeviceBuffer sink(static_cast<std::size_t>(blocks) * kThreads * sizeof(std::int32_t));
  constexpr int kShared = kOperandBytes + 1024;
  constexpr int kIterations = 20000;
  Events events;
  if (!hopper) {
    const double seconds = events.median_seconds([&] {
      portable_products<<<blocks, kThreads>>>(operands.as<>(), kIterations,
                                              sink.as<std::int32_t>());
    });
    return blocks * kPortableOps * kIterations / seconds;
  }
  check(cudaFuncSetAttribute(hopper_products, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
        "reserving shared memory");
  const double seconds = events.median_seconds([&] {
    hopper_products<<<blocks, kThreads, kShared>>>(operands.as<>(), kIterations,
                                                   sink.as<std::int32_t>());
  });
  return blocks * kHopperOps * kIterations / seconds;
}

double measure_copy_bytes(int device) {
  properties(device);
  constexpr std::size_t kBytes = std::size_t{1} << 31;
  const DeviceBuffer from(kBytes);
  const DeviceBuffer to(kBytes);
  check(cudaMemset(from.as<void>(), 0x5A, kBytes), "filling device memory");
  Events events;
  const double seconds = events.median_seconds([&] {
    check(cudaMemcpyAsync(to.as<void>(), from.as<void>(), kBytes, cudaMemcpyDeviceToDevice),
          "copying on the device");
  });
  return 2.0 * kBytes / seconds;
}

}  // namespace qsim::golden
