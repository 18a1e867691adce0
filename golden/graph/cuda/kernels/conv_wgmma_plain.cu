// The Hopper convolution with plain requantization (is_plain() in
// golden/graph/cuda/output_stage.h).
#include "golden/graph/cuda/kernels/conv_wgmma_functions.cuh"

namespace qsim::golden::cuda {

WgmmaFunction plain_function(bool is_unsigned, const ConvPlan& plan, Finish finish) {
  return finish == Finish::kPlainPool ? function_of_input<Finish::kPlainPool>(is_unsigned, plan)
                                      : function_of_input<Finish::kPlain>(is_unsigned, plan);
}

}  // namespace qsim::golden::cuda
