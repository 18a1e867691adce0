// The scale and zero_point of one channel's weights (or of a whole tensor's), from the values
// themselves; no histogram.
#pragma once

#include <span>

#include "quantize/levels.h"
#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {

// Of integers at equal steps. `has_negatives`: of the tensor, which decides the zero_point of
// symmetric unsigned levels. Weights that are all 0 are the caller's.
Quantization uniform_quantization(std::span<const float> weights, const WeightScheme& scheme,
                                  bool has_negatives, const ExponentLimits& allowed);

// Of the two levels -1 and +1: the mean of |w|, or the nearest scale that the kind allows
// (XNOR-Net, Rastegari et al. 2016, equation 6).
float binary_scale(std::span<const float> weights, ScaleKind kind, const ExponentLimits& allowed);

// Mean of the squared distances between weights and their nearest levels.
double mean_squared_error(std::span<const float> weights, const Quantization& quantization);

// As numpy.percentile: linear between the two nearest of the sorted values. percent in 0..100.
float exact_percentile(std::span<const float> sorted, double percent);

}  // namespace qsim::quantize
