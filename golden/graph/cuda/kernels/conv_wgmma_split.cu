// The Hopper convolution whose tiles share their depth in clusters; any finish.
#include "golden/graph/cuda/kernels/conv_wgmma_functions.cuh"

namespace qsim::golden::cuda {

WgmmaFunction split_function(bool is_unsigned, const ConvPlan& plan) {
  return function_of_input<Finish::kSplit>(is_unsigned, plan);
}

}  // namespace qsim::golden::cuda
