// How far a quantization is from the values of a histogram.
#pragma once

#include <vector>

#include "quantize/levels.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// The values of a bin are taken as uniform over it, and the squared error is integrated: with the
// bins' centres alone, steps as short as a bin would seem free of error. Values that are 0 have no
// error in any quantization: they are counted apart.
class HistogramError {
 public:
  // Needs the second pass.
  explicit HistogramError(const TensorStatistics& statistics);

  double mean_squared(const Quantization& quantization) const;

 private:
  std::vector<double> edges_;
  // Of a bin: values not 0, as a share of all, by unit of x. Of the one value, where there is one:
  // its share.
  std::vector<double> density_;
};

// Kullback-Leibler divergence of the histogram, clipped, and what remains of it after quantization
// (see docs/reference/quantize.md). Values that are 0 are left out. Infinite where the
// quantized distribution has nothing and the data have something.
double divergence(const TensorStatistics& statistics, const Quantization& quantization);

// Counts of the bins without the values that are 0.
std::vector<std::int64_t> bins_without_zeros(const TensorStatistics& statistics);

}  // namespace qsim::quantize
