// dw of the sums of parts that blocks have left in the workspace.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/cuda/backward/weight_gradient.cuh"

namespace qsim::golden::train::cuda {

// out.sums [parts][out_channels][depth], added in the order of parts.
void enqueue_weight_sums(const WeightOutput& out, const ConvGeometry& conv, int parts,
                         cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
