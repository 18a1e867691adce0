// The gradient of a convolution's weights where groups have few channels, as depthwise layers have.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

bool has_direct_weight_gradient(const ConvWeightGradient& call);
std::size_t direct_weight_workspace_bytes(const ConvWeightGradient& call);
void enqueue_direct_weight_gradient(const ConvWeightGradient& call, void* workspace,
                                    cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
