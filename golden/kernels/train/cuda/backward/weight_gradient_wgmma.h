// The gradient of a convolution's weights with wgmma, on compute capability 9.0: windows of 3x3,
// stride and dilation 1, and whole blocks of 64 channels.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

// Whether the current device can compute the call so.
bool has_wgmma_weight_gradient(const ConvWeightGradient& call);
std::size_t wgmma_weight_workspace_bytes(const ConvWeightGradient& call);
void enqueue_wgmma_weight_gradient(const ConvWeightGradient& call, void* workspace,
                                   cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
