// Weights of nine bits as sums of int8 numbers, for kernels that multiply bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/tensor.h"

namespace qsim::golden::cuda {

// How many int8 numbers a weight of `weights` is the sum of: 1 of int8; of int16 within -255..255,
// 2, or 3 where there is a 255.
int weight_parts(const Tensor& weights);

// `weights` [Cout][...]: each channel's weights as weight_parts() lists, one after the other. The
// parts have the sign of the whole, so that the sum of magnitudes stays what it was.
std::vector<std::int8_t> split_weights(const Tensor& weights);

}  // namespace qsim::golden::cuda
