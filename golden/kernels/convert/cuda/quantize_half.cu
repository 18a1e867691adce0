// Quantizations from FP16.
#include "golden/kernels/convert/cuda/quantize_launch.cuh"

namespace qsim::golden::cuda {

void launch_quantize_half(const QuantizeLaunch& launch) {
  launch_quantize<ElementFormat::kHalf>(launch);
}

}  // namespace qsim::golden::cuda
