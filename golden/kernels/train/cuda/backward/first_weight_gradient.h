// The gradient of the weights of a network's first layer, whose windows have few levels: at most
// 32, as 3x3 of three channels has.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

bool has_first_weight_gradient(const ConvWeightGradient& call);
std::size_t first_weight_workspace_bytes(const ConvWeightGradient& call);
void enqueue_first_weight_gradient(const ConvWeightGradient& call, void* workspace,
                                   cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
