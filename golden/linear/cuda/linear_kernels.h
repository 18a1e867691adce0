// The kernels of linear layers: each one's launch. linear_launch.cpp chooses.
#pragma once

#include <cuda_runtime.h>

#include "golden/linear/cuda/linear_launch.h"
#include "golden/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

// Whether the weights are laid out for bulk copies.
bool has_aligned_rows(const DeviceWeights& weights);

// Compute capability 9.0; rows that are aligned; a plan of at least two stages.
void launch_linear_rows(const DeviceWeights& weights, const LinearCall& call, const RowPlan& plan,
                        cudaStream_t stream);
void launch_linear_plain(const DeviceWeights& weights, const LinearCall& call, cudaStream_t stream);

}  // namespace qsim::golden::cuda
