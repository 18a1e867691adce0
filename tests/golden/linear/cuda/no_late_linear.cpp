// LateLinear in a build without nvcc: it says so.
#include "core/base/error.h"
#include "golden/device/devices.h"
#include "tests/golden/linear/cuda/late_linear.h"

namespace qsim::golden_test {

using namespace golden;

class LateLinear::Impl {};

LateLinear::LateLinear(const LinearWeights&, std::span<const float>, bool) {
  use_device(0);  // throws
}
LateLinear::~LateLinear() = default;

// No layer exists to call these on.
FloatMatrix LateLinear::run(const FloatMatrix&, FloatType, CudaLinearKernel, bool) const {
  throw InternalError("a CUDA linear layer without CUDA");
}
FloatMatrix LateLinear::run_int8(const FloatMatrix&, const Int8Activations&, FloatType,
                                 Int8LinearKernel, bool) const {
  throw InternalError("a CUDA linear layer without CUDA");
}

}  // namespace qsim::golden_test
