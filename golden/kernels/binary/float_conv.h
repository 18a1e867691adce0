// The float convolution that a binary one replaces: a plain kernel, to compare results and times
// with.
#pragma once

#include <span>
#include <vector>

#include "core/network/operations.h"
#include "golden/kernels/binary/binary_weights.h"

namespace qsim::golden {

// y[o] = sum over taps inside the picture, then channels, of x * w, each product and each sum
// rounded to float32; [batch][height][width][out_channels]. x is [batch][height][width][channels],
// w [out_channels][kernel_h][kernel_w][channels]. The window's kernel is that of the weights. Loops
// alone: the compiler vectorizes over the output channels. Throws Error as output_shape() of
// binary_conv.h does, and for another number of values than the shapes'.
std::vector<float> float_conv(std::span<const float> w, const WeightShape& weights,
                              const Window& window, std::span<const float> x,
                              const ImageShape& input);

}  // namespace qsim::golden
