// The Hopper convolution with shifts, clamps and zero points of any kind.
#include "golden/graph/cuda/kernels/conv_wgmma_functions.cuh"

namespace qsim::golden::cuda {

WgmmaFunction shift_function(bool is_unsigned, const ConvPlan& plan, Finish finish) {
  return finish == Finish::kAnyPool ? function_of_input<Finish::kAnyPool>(is_unsigned, plan)
                                    : function_of_input<Finish::kAny>(is_unsigned, plan);
}

}  // namespace qsim::golden::cuda
