// The gradient of a convolution's input with wgmma, on compute capability 9.0: stride and dilation
// 1, windows of up to 3x3, and whole blocks of 64 channels.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

// Whether the current device can compute the call so.
bool has_wgmma_input_gradient(const ConvInputGradient& call);
std::size_t wgmma_input_workspace_bytes(const ConvInputGradient& call);
void enqueue_wgmma_input_gradient(const ConvInputGradient& call, void* workspace,
                                  cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
