// Convolutions of few channels as products of patches: a first kernel writes the window of each
// output pixel as a row of bytes, and the tensor cores multiply rows as a 1x1 window does.
#pragma once

#include <cstddef>

#include "golden/kernels/train/cuda/forward/conv_sizes.h"

namespace qsim::golden::train::cuda {

// The bytes of a row; 0 where a convolution is not taken: groups, a zero_point, more than 64
// products of an output, channels that the copy engine takes as they are.
int patch_bytes(const ConvSizes& conv);

// The workspace for the rows of both operands.
std::size_t patch_workspace_bytes(const ConvSizes& conv);

// Enqueues the kernels that write the rows; returns the convolution of them.
ConvSizes enqueue_patches(const ConvSizes& conv, void* workspace, void* stream);

}  // namespace qsim::golden::train::cuda
