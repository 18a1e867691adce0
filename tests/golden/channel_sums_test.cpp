// What golden knows of psums before an input arrives: its bound against psums that reach it.
#include "golden/common/channel_sums.h"

#include <gtest/gtest.h>

namespace qsim::golden {
namespace {

TEST(ChannelSums, AddWeightsAndTheirMagnitudes) {
  const std::int8_t weights[] = {-128, 127, 0, -1};
  const ChannelSums sums = sum_weights(weights, 4);
  EXPECT_EQ(sums.sum, -2);
  EXPECT_EQ(sums.magnitude, 256);
  EXPECT_EQ(sum_weights(weights, 2).magnitude, 255);
}

// 255 * magnitude + |bias| + 2^shift + 256 against INT32_MAX, to one.
TEST(ChannelSums, NarrowEndsWhereInt32Does) {
  constexpr ChannelSums kSums{.sum = 0, .magnitude = 1000};
  constexpr int kShift = 5;
  constexpr std::int64_t kMost = INT32_MAX - 255 * 1000 - (1 << kShift) - 256;
  EXPECT_TRUE(psums_stay_narrow(kSums, static_cast<std::int32_t>(kMost), kShift));
  EXPECT_FALSE(psums_stay_narrow(kSums, static_cast<std::int32_t>(kMost + 1), kShift));
  EXPECT_TRUE(psums_stay_narrow(kSums, static_cast<std::int32_t>(-kMost), kShift));
  EXPECT_FALSE(psums_stay_narrow(kSums, static_cast<std::int32_t>(-kMost - 1), kShift));
  EXPECT_FALSE(psums_stay_narrow(kSums, 0, 31));
  EXPECT_FALSE(psums_stay_narrow({.sum = 0, .magnitude = 9'000'000}, 0, 0));
}

TEST(ChannelSums, ProductsAreExactUpTo29Bits) {
  constexpr ChannelSums kSums{.sum = 0, .magnitude = 1000};
  constexpr std::int32_t kMost = (1 << 29) - 255 * 1000;
  EXPECT_TRUE(products_stay_exact(kSums, kMost));
  EXPECT_FALSE(products_stay_exact(kSums, kMost + 1));
  EXPECT_TRUE(products_stay_exact(kSums, -kMost));
  EXPECT_FALSE(products_stay_exact(kSums, -kMost - 1));
  EXPECT_FALSE(products_stay_exact({.sum = 0, .magnitude = 1 << 24}, 0));
  EXPECT_FALSE(products_stay_exact({}, INT32_MIN));
}

}  // namespace
}  // namespace qsim::golden
