// The weight-only linear layer on a GPU: the bits of reference_linear(). Works in every build:
// without nvcc or a GPU the constructor says so.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "golden/kernels/linear/linear.h"

namespace qsim::golden {

enum class CudaLinearKernel : std::uint8_t {
  kAuto,
  kRows,      // tensor cores
  kManyRows,  // the same with twice the warps, for many weights with one scale a channel
  kBatch,     // tensor cores, several rows of x at once
  kHopper,    // wgmma: several rows of x, 8 bits with one scale a channel
  kPlain,     // any size
};
inline constexpr CudaLinearKernel kCudaLinearKernels[] = {
    CudaLinearKernel::kRows, CudaLinearKernel::kManyRows, CudaLinearKernel::kBatch,
    CudaLinearKernel::kHopper, CudaLinearKernel::kPlain};
std::string_view cuda_linear_kernel_name(CudaLinearKernel kernel);  // "rows"

class CudaLinear {
 public:
  // Copies the weights to `device`; `bias` is [N], FP32, or empty. is_signed: 4-bit weights are
  // stored there in two's complement; the results are the same. Throws Error as check_shapes()
  // does, and "CUDA: ..." (exit code 3) without that device.
  CudaLinear(const LinearWeights& weights, std::span<const float> bias, int device,
             bool is_signed = false);
  ~CudaLinear();
  CudaLinear(const CudaLinear&) = delete;
  CudaLinear& operator=(const CudaLinear&) = delete;

  // y [M][N] of x [M][K]. Throws Error when x does not fit.
  FloatMatrix run(const FloatMatrix& x, FloatType y_type,
                  CudaLinearKernel kernel = CudaLinearKernel::kAuto) const;
  // Whether this kernel can compute the layer on this device.
  bool has(CudaLinearKernel kernel) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// What is timed: random weights and x, on the device alone.
struct LinearTimingCase {
  std::int64_t rows = 1;
  std::int64_t in_features = 0;
  std::int64_t out_features = 0;
  std::int64_t group_size = 0;
  int bits = 8;
  FloatType type = FloatType::kFloat16;  // of x
  FloatType y_type = FloatType::kFloat16;
  bool has_bias = false;
  CudaLinearKernel kernel = CudaLinearKernel::kAuto;
  int stages = 0;        // of the kernel's pipeline; 0: chosen
  bool constant = true;  // the weights may be read before the launch before has ended
  int runs = 15;         // replays of the graph
};

// Whether the kernel has room for so many stages with the shared memory of compute capability 9.0
// and the multiprocessors of `device`. Throws Error without that device.
bool has_pipeline(const LinearTimingCase& one, int device);

// Bytes that one launch reads and writes at least.
std::int64_t linear_bytes(const LinearTimingCase& one);

// Seconds of a launch on `device`, one for each replay of a CUDA graph with cold caches
// (golden/device/cold_timer.h), in ascending order. Throws Error without that device.
std::vector<double> time_linear(const LinearTimingCase& one, int device);

}  // namespace qsim::golden
