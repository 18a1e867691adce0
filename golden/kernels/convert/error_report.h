// How far a quantized tensor is from what it was made of.
#pragma once

#include "golden/kernels/convert/conversion.h"

namespace qsim::golden {

// Errors over the finite elements; x' is number times scale in FP32, and sums are in double.
struct ErrorReport {
  std::int64_t elems = 0;  // finite elements
  std::int64_t not_finite = 0;
  double mean_relative = 0;  // mean of |x' - x| / |x| over the finite elements that are not 0
  double nrmse = 0;          // sqrt(sum (x' - x)^2 / sum x^2)
  double worst_nrmse = 0;    // of the groups, the first one with the largest
  std::int64_t worst_row = 0;
  std::int64_t worst_group = 0;  // of that row
};

// Throws Error if `q` has another shape than `x`.
ErrorReport error_report(const HalfTensor& x, const QuantizedTensor& q);

}  // namespace qsim::golden
