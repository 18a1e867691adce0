// The gradient of max pooling by 2x2 with stride 2 and no pads, of tensors whose channels are
// vectors: a thread has a window, and eight channels of it.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

bool has_pool_windows(const MaxPoolGradient& call);
void enqueue_pool_windows(const MaxPoolGradient& call, cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
