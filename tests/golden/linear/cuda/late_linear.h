// Linear layers on a GPU whose operands are written late: by a kernel just before on the same
// stream, which lets the layer begin early. A layer that reads too early finds other bytes.
#pragma once

#include <memory>
#include <span>

#include "golden/kernels/linear/cuda/cuda_int8_linear.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"

namespace qsim::golden_test {

class LateLinear {
 public:
  // Takes what CudaLinear takes; runs on device 0.
  LateLinear(const golden::LinearWeights& weights, std::span<const float> bias, bool is_signed);
  ~LateLinear();
  LateLinear(const LateLinear&) = delete;
  LateLinear& operator=(const LateLinear&) = delete;

  // y [M][N] of x [M][K]. x is written late; the weights, scales, zero_points and bias are too,
  // unless they are constant (golden::cuda::DeviceWeights).
  golden::FloatMatrix run(const golden::FloatMatrix& x, golden::FloatType y_type,
                          golden::CudaLinearKernel kernel, bool constant) const;
  // The same with int8 activations.
  golden::FloatMatrix run_int8(const golden::FloatMatrix& x,
                               const golden::Int8Activations& activations, golden::FloatType y_type,
                               golden::Int8LinearKernel kernel, bool constant) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace qsim::golden_test
