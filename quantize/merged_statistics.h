// The statistics of several tensors taken for one.
#pragma once

#include <vector>

#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// At least one. The bins of the sum cover all ranges; a bin's values count at its middle,
// but those that are 0.
TensorStatistics merged(const std::vector<const TensorStatistics*>& parts);

}  // namespace qsim::quantize
