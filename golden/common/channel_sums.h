// What can be known of a layer's psums before an input arrives, from the weights alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qsim::golden {

// Sums over the weights of one output channel.
struct ChannelSums {
  std::int64_t sum = 0;
  std::int64_t magnitude = 0;  // sum of |w|
};

ChannelSums sum_weights(const std::int8_t* weights, std::size_t depth);

// Whether |t| + 2^shift + |zero_point| fits int32 whatever the input is, t being a psum plus
// `bias`: then core/numerics/requantize.h may be evaluated in 32 bits. (|x - zero_point| <= 255.)
bool psums_stay_narrow(const ChannelSums& sums, std::int32_t bias, int shift);

// Whether |t| <= 2^29 whatever the input is: then t times a 24-bit multiplier has at most 53 bits,
// and a double holds the product exactly.
bool products_stay_exact(const ChannelSums& sums, std::int32_t bias);

}  // namespace qsim::golden
