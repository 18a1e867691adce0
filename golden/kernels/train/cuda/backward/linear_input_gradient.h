// The gradient of a linear layer's input for few pixels (rows of a batch): it reads the weights
// once, as levels.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

bool has_linear_input_gradient(const ConvInputGradient& call);
std::size_t linear_input_workspace_bytes(const ConvInputGradient& call);
void enqueue_linear_input_gradient(const ConvInputGradient& call, void* workspace,
                                   cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
