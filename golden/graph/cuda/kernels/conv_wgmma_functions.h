// The compiled kernels of the Hopper convolution by what they are made for. A file for each kind of
// finish: compiling them takes long.
#pragma once

#include "golden/graph/cuda/kernels/conv_wgmma_plan.h"

namespace qsim::golden::cuda {

using WgmmaFunction = void (*)(ConvWgmmaArgs);

// The kernel for an input of uint8 or int8 and a finish. The functions, in order, have kPlain and
// kPlainPool; kAny and kAnyPool; kScale and kScalePool; kScaleAdd and kScaleAddFirst; kSplit.
WgmmaFunction plain_function(bool is_unsigned, const ConvPlan& plan, Finish finish);
WgmmaFunction shift_function(bool is_unsigned, const ConvPlan& plan, Finish finish);
WgmmaFunction scale_function(bool is_unsigned, const ConvPlan& plan, Finish finish);
WgmmaFunction sum_function(bool is_unsigned, const ConvPlan& plan, Finish finish);
WgmmaFunction split_function(bool is_unsigned, const ConvPlan& plan);

}  // namespace qsim::golden::cuda
