// Quantizations from BF16.
#include "golden/kernels/convert/cuda/quantize_launch.cuh"

namespace qsim::golden::cuda {

void launch_quantize_bfloat16(const QuantizeLaunch& launch) {
  launch_quantize<ElementFormat::kBfloat16>(launch);
}

}  // namespace qsim::golden::cuda
