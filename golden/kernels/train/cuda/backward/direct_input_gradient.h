// The gradient of a convolution's input where groups have few channels, as depthwise layers have.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

// Takes no workspace.
bool has_direct_input_gradient(const ConvInputGradient& call);
void enqueue_direct_input_gradient(const ConvInputGradient& call, cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
