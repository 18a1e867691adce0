// Float weights to the integers of a linear layer. Each step is one FP32 operation, rounded to
// nearest, ties to even: scale = max / levels, q = round(weight / scale).
#pragma once

#include <span>

#include "golden/kernels/linear/linear.h"

namespace qsim::golden {

// weights [N][K], FP32. Each output channel, or each group of group_size input features of it, has
// the scale max|W| / 127 and values in -127..127. Where the scale is 0 (all weights are zero, or so
// small that the division underflows) it becomes 1, and the values are 0. Throws Error for sizes
// that check_weights() refuses and a weight that is not finite.
LinearWeights quantize_per_channel(std::span<const float> weights, std::int64_t out_features,
                                   std::int64_t in_features, std::int64_t group_size = 0);

// weights [N][K], FP32, to 4 bits with a scale and a zero_point for each group. `symmetric`: the
// zero_point is 8, the scale max|W| / 7, the values are 1..15. Else the scale is (max - min) / 15,
// where min <= 0 <= max, the zero_point round(-min / scale), and the values are 0..15. A group
// whose scale is 0 has scale 1 and the values of zero. Throws Error as quantize_per_channel() does,
// and for a group_size that check_weights() refuses.
LinearWeights quantize_to_int4(std::span<const float> weights, std::int64_t out_features,
                               std::int64_t in_features, std::int64_t group_size, bool symmetric);

// [K][N] to [N][K].
std::vector<std::int8_t> transposed(std::span<const std::int8_t> values, std::int64_t in_features,
                                    std::int64_t out_features);

}  // namespace qsim::golden
