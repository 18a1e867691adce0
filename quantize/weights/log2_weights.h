// Weights as sign and exponent: +-2^e with e in 0..2^(bits - 1) - 2, and 0 (the code that is left).
#pragma once

#include <cstdint>
#include <span>

#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {

// 2 to 5: with 5 bits e is up to 14, and 2^14 fits int16.
inline constexpr int kLeastLog2Bits = 2;
inline constexpr int kMostLog2Bits = 5;

// sign(w) 2^e, e the integer nearest to log2(|w| / scale), at most `most_exponent`; 0 where |w| /
// scale, a float32, is below 2^-0.5. The same rule as Log2Rule in golden/graph/real/real_rules.h
// with lo 0.
std::int16_t log2_level(float weight, float scale, int most_exponent);

// By the scheme's clipping. min_max: the largest |w| (percentile: the larger end; fixed: of what is
// given) is on the largest level: to the last bit with float scales, to the nearest with others.
// mse: the scale of least squared error, from an octave above that to four below.
float log2_scale(std::span<const float> weights, const WeightScheme& scheme,
                 const ExponentLimits& allowed);

}  // namespace qsim::quantize
