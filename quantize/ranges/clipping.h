// From statistics of a tensor to the range that its integers cover: the observers.
#pragma once

#include <string_view>

#include "quantize/levels.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

enum class ClippingRule : std::uint8_t {
  kMinMax,         // all values
  kMovingAverage,  // of the batches' ranges: r += c * (batch - r)
  kPercentile,     // between the two percentiles
  kMse,            // the range of least mean squared error, over all that the scales allow
  kEntropy,        // the range of least Kullback-Leibler divergence
  kFixed           // lo..hi as given
};

struct Clipping {
  ClippingRule rule = ClippingRule::kMinMax;
  double moving_average = 0.01;    // c
  double percentile_low = 0.01;    // in percent
  double percentile_high = 99.99;  // in percent
  Range fixed = {};
};

// "min_max", "moving_average", "percentile", "mse", "entropy", "fixed"
std::string_view clipping_name(ClippingRule rule);

// Throws Error unless 0 <= low < high <= 100.
void check_percentiles(const Clipping& clipping);

// The quantization of an activation tensor. kMse and kEntropy search over the quantizations that
// `levels`, `symmetry` and `kind` allow, by the histogram. Throws Error for options that mean
// nothing: percentiles, a constant or a fixed range out of bounds; one signed bit.
Quantization activation_quantization(const TensorStatistics& statistics, const Clipping& clipping,
                                     const Levels& levels, Symmetry symmetry, ScaleKind kind);

// Mean squared error of the histogram's values in that quantization.
double mean_squared_error(const TensorStatistics& statistics, const Quantization& quantization);

}  // namespace qsim::quantize
