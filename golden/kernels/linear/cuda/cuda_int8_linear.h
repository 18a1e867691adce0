// The linear layer with int8 activations (W8A8) on a GPU: the bits of reference_linear_int8().
// Works in every build: without nvcc or a GPU the constructor says so.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "golden/kernels/linear/cuda/int8_launch.h"

namespace qsim::golden {

using cuda::Int8LinearKernel;
inline constexpr Int8LinearKernel kInt8LinearKernels[] = {
    Int8LinearKernel::kRows, Int8LinearKernel::kMatrix, Int8LinearKernel::kPlain};
std::string_view int8_linear_kernel_name(Int8LinearKernel kernel);  // "int8_rows"

class CudaInt8Linear {
 public:
  // Copies the weights to `device`; `bias` is [N], FP32, or empty. Throws Error as check_shapes()
  // and check_int8_activations() do, and "CUDA: ..." (exit code 3) without that device.
  CudaInt8Linear(const LinearWeights& weights, std::span<const float> bias, int device);
  ~CudaInt8Linear();
  CudaInt8Linear(const CudaInt8Linear&) = delete;
  CudaInt8Linear& operator=(const CudaInt8Linear&) = delete;

  // y [M][N] of x [M][K]. Throws Error when x or the static scale does not fit.
  FloatMatrix run(const FloatMatrix& x, const Int8Activations& activations, FloatType y_type,
                  Int8LinearKernel kernel = Int8LinearKernel::kAuto) const;
  // Whether this kernel can compute the layer on this device.
  bool has(Int8LinearKernel kernel) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Times a layer of 8 bits without groups, as time_linear() does; its CudaLinearKernel and its
// stages do not matter. linear_bytes() are what one launch reads and writes at least.
std::vector<double> time_int8_linear(const LinearTimingCase& one, Int8LinearKernel kernel,
                                     int device);
// Whether the kernel can compute it on `device`.
bool has_int8_kernel(const LinearTimingCase& one, Int8LinearKernel kernel, int device);

}  // namespace qsim::golden
