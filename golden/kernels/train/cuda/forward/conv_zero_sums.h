// What a zero_point takes from the sums of a convolution whose pads are zeros: itself, times the
// weights of the taps that are inside of the picture. Those taps are a rectangle, so that tables of
// sums over the rectangles from the first tap on give it by four entries.
#pragma once

#include <cstddef>

#include "golden/kernels/train/cuda/forward/conv_sizes.h"

namespace qsim::golden::train::cuda {

// Whether enqueue_zero_sums() takes these weights: few taps, channels in multiples of 16, aligned.
bool takes_zero_sums(const ConvSizes& conv);
std::size_t zero_sums_bytes(const ConvSizes& conv);

// Enqueues the kernel that writes sums[rows][columns of taps][output channel], mod 2^32: the
// zero_point times the weights of the first rows (0..kernel_h) and columns (0..kernel_w) of taps.
void enqueue_zero_sums(const ConvSizes& conv, std::int32_t* sums, void* stream);

}  // namespace qsim::golden::train::cuda
