// The Hopper convolution with requantizers.
#include "golden/graph/cuda/kernels/conv_wgmma_functions.cuh"

namespace qsim::golden::cuda {

WgmmaFunction scale_function(bool is_unsigned, const ConvPlan& plan, Finish finish) {
  return finish == Finish::kScalePool ? function_of_input<Finish::kScalePool>(is_unsigned, plan)
                                      : function_of_input<Finish::kScale>(is_unsigned, plan);
}

}  // namespace qsim::golden::cuda
