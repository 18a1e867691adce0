// Bias correction: rounding a layer's weights and its inputs moves each output channel; the bias
// takes back what it can (after Nagel, van Baalen, Blankevoort, Welling, "Data-Free Quantization
// Through Weight Equalization and Bias Correction", ICCV 2019, section 4.2, on calibration
// pictures).
//
// Theirs brings the mean of the sums to the float network's. Where a ReLU follows, most sums are
// below 0 and do not count, and few bits make them smaller in magnitude: the mean then moves the
// sums that count the wrong way. So what is brought near the float network's here is what the
// layers after it read: the clamped sums. Without a clamp that is the mean.
#pragma once

#include <limits>
#include <vector>

#include "core/base/tensor.h"

namespace qsim::quantize {

// What a layer's sums are clamped to before the next layer reads them.
struct ClampRange {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// bias + what brings the clamped sums of the quantized network nearest to those of the float one,
// channel by channel: the least mean squared error of a few Newton steps, never more than that of
// `bias`.
std::vector<float> corrected_bias(const std::vector<float>& bias, const Tensor& float_sums,
                                  const Tensor& quantized_sums, const ClampRange& clamp = {});

}  // namespace qsim::quantize
