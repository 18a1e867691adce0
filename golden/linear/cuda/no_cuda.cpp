// The linear layer on a GPU in a build without nvcc: it says so.
#include "core/error.h"
#include "golden/device/devices.h"
#include "golden/linear/cuda/cuda_linear.h"
#include "golden/linear/cuda/linear_launch.h"

namespace qsim::golden {

class CudaLinear::Impl {};

CudaLinear::CudaLinear(const LinearWeights& weights, std::span<const float> bias, int device,
                       bool) {
  check_weights(weights);
  check_bias(weights, bias);
  use_device(device);  // throws
}
CudaLinear::~CudaLinear() = default;

// No layer exists to call these on.
FloatMatrix CudaLinear::run(const FloatMatrix&, FloatType, CudaLinearKernel) const {
  throw InternalError("a CUDA linear layer without CUDA");
}
bool CudaLinear::has(CudaLinearKernel) const {
  throw InternalError("a CUDA linear layer without CUDA");
}

std::vector<double> time_linear(const LinearTimingCase&, int device) {
  use_device(device);  // throws
  return {};
}

namespace cuda {
void enqueue_linear(const DeviceWeights&, const LinearCall&, void*) { use_device(0); }
}  // namespace cuda

}  // namespace qsim::golden
