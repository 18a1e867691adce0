// How kernels are launched: each launch is checked, and sizes beyond one grid are looped over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <cuda_runtime.h>

#include "golden/device/cuda_error.h"

namespace qsim::golden::cuda {

// Programmatic dependent launch, from compute capability 9.0 on: a kernel may start while the one
// before it ends. The first lets the next one start; the second waits until the one before has
// ended and its writes can be seen. Both do nothing elsewhere.
__device__ inline void start_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void wait_for_last_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// What a kernel of launch_kernel() does before it touches an activation. The compiler takes what
// __ldg() reads as constant and may read it earlier: a value that each thread reads at the
// beginning and that another kernel writes is read without it
// (golden.cuda_code_waits_before_loads).
__device__ inline void begin_kernel() {
  start_next_kernel();
  wait_for_last_kernel();
}

// Whether the current device knows it.
inline bool has_dependent_launch() {
  int device = 0;
  int major = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "asking for the compute capability");
  return major >= 9;
}

// Enqueues `kernel`, which calls begin_kernel(); throws Error "CUDA: launching WHAT: ..." when the
// launch is refused.
template <typename... Params, typename... Args>
void launch_kernel(const char* what, void (*kernel)(Params...), std::int64_t blocks, int threads,
                   std::size_t shared_bytes, cudaStream_t stream, Args&&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = has_dependent_launch() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...), what);
  check(cudaGetLastError(), what);
}

// Blocks of `threads` for a kernel that strides over `items` by its grid.
inline std::int64_t grid_stride_blocks(std::int64_t items, int threads) {
  constexpr std::int64_t kMostBlocks = 1 << 20;
  return std::min((items + threads - 1) / threads, kMostBlocks);
}

// Index of this thread in its grid, and the number of threads.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// An 8-bit activation as an int32.
__device__ inline std::int32_t activation(std::uint8_t byte, bool is_unsigned) {
  return is_unsigned ? byte : static_cast<std::int8_t>(byte);
}

}  // namespace qsim::golden::cuda
