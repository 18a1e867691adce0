// Integer weights as the float32 numbers that the vector kernels multiply with. Integers of 8 bits
// and a sign have products below 2^16, so the 256 of a chunk add up to less than 2^24: float32 sums
// them exactly. Powers of two are cut into bands of kBandExponents exponents for the same reason.
#pragma once

#include <vector>

#include "golden/real/integer_layer.h"

namespace qsim::golden {

inline constexpr std::int32_t kBandExponents = 9;  // 255 * 2^8 * 256 < 2^24

// A part of a layer's weights, [Cout][depth], whose products count 2^shift.
struct FactorBand {
  std::vector<float> factors;
  int shift = 0;
};

// Sum of them all: the layer's weights over their scales. One band for a weight-only layer.
std::vector<FactorBand> factor_bands(const RealLayerWeights& weights, std::int64_t depth);

// By output channel: what a sum is multiplied with, besides the scale of an integer input.
std::vector<float> sum_scales(const RealLayerWeights& weights, std::int64_t outputs);

}  // namespace qsim::golden
