// Bias correction: rounding a layer's weights and its inputs moves the mean of each output channel;
// the bias takes that back (Nagel, van Baalen, Blankevoort, Welling, "Data-Free Quantization
// Through Weight Equalization and Bias Correction", ICCV 2019, section 4.2; here the means are
// those of calibration pictures).
#pragma once

#include <vector>

#include "core/tensor.h"

namespace qsim::quantize {

// The mean of each channel of a float32 tensor [N][H][W][C], added in double in the tensor's order.
std::vector<double> channel_means(const Tensor& tensor);

// bias + mean of the float network's sums - mean of the quantized network's sums, channel by
// channel.
std::vector<float> corrected_bias(const std::vector<float>& bias, const Tensor& float_sums,
                                  const Tensor& quantized_sums);

}  // namespace qsim::quantize
