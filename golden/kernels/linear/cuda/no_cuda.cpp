// The linear layer on a GPU in a build without nvcc: it says so.
#include "core/base/error.h"
#include "golden/device/devices.h"
#include "golden/kernels/linear/cuda/cuda_int8_linear.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "golden/kernels/linear/cuda/linear_launch.h"
#include "golden/kernels/linear/cuda/quantize_weights.h"

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

class CudaInt8Linear::Impl {};

CudaInt8Linear::CudaInt8Linear(const LinearWeights& weights, std::span<const float> bias,
                               int device) {
  check_weights(weights);
  check_bias(weights, bias);
  check_int8_activations(weights.group_size, weights.bits, {});
  use_device(device);  // throws
}
CudaInt8Linear::~CudaInt8Linear() = default;

FloatMatrix CudaInt8Linear::run(const FloatMatrix&, const Int8Activations&, FloatType,
                                Int8LinearKernel) const {
  throw InternalError("a CUDA linear layer without CUDA");
}
bool CudaInt8Linear::has(Int8LinearKernel) const {
  throw InternalError("a CUDA linear layer without CUDA");
}

std::vector<double> time_int8_linear(const LinearTimingCase&, Int8LinearKernel, int device) {
  use_device(device);  // throws
  return {};
}

bool has_int8_kernel(const LinearTimingCase&, Int8LinearKernel, int device) {
  use_device(device);  // throws
  return false;
}

namespace cuda {
void enqueue_int8_linear(const DeviceWeights& weights, const Int8LinearCall&, void*) {
  check_channels(weights.out_features);
  use_device(0);
}
std::int64_t int8_workspace_bytes(std::int64_t, std::int64_t) {
  use_device(0);  // throws
  return 0;
}
void enqueue_linear(const DeviceWeights& weights, const LinearCall&, void*) {
  check_channels(weights.out_features);
  use_device(0);
}
void enqueue_quantize(const WeightsToQuantize&, void*) { use_device(0); }
}  // namespace cuda

}  // namespace qsim::golden
