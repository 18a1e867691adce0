// The Hopper convolution with requantizers and an addition after them.
#include "golden/graph/cuda/kernels/conv_wgmma_functions.cuh"

namespace qsim::golden::cuda {

WgmmaFunction sum_function(bool is_unsigned, const ConvPlan& plan, Finish finish) {
  return finish == Finish::kScaleAddFirst
             ? function_of_input<Finish::kScaleAddFirst>(is_unsigned, plan)
             : function_of_input<Finish::kScaleAdd>(is_unsigned, plan);
}

}  // namespace qsim::golden::cuda
