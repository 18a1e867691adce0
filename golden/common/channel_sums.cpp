#include "golden/common/channel_sums.h"

#include <cstdlib>

namespace qsim::golden {

ChannelSums sum_weights(const std::int8_t* weights, std::size_t depth) {
  ChannelSums sums;
  for (std::size_t k = 0; k < depth; ++k) {
    sums.sum += weights[k];
    sums.magnitude += std::abs(weights[k]);
  }
  return sums;
}

bool psums_stay_narrow(const ChannelSums& sums, std::int32_t bias, int shift) {
  constexpr std::int64_t kLargestZeroPoint = 256;
  return 255 * sums.magnitude + std::abs(std::int64_t{bias}) + (std::int64_t{1} << shift) +
             kLargestZeroPoint <=
         INT32_MAX;
}

bool products_stay_exact(const ChannelSums& sums, std::int32_t bias) {
  return 255 * sums.magnitude + std::abs(std::int64_t{bias}) <= std::int64_t{1} << 29;
}

}  // namespace qsim::golden
