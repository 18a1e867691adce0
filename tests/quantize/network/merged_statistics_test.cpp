// Statistics of several tensors taken for one, beside those of all their values.
#include "quantize/merged_statistics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "quantize/ranges/histogram_error.h"

namespace qsim::quantize {
namespace {

std::vector<float> values_of(std::uint64_t seed, float lo, float hi, bool cut_off) {
  Random random(seed);
  std::vector<float> values(5000);
  for (float& value : values) {
    value = lo + (hi - lo) * static_cast<float>(random.uniform(0, 1 << 20)) * 0x1p-20F;
    if (cut_off) value = std::max(value, 0.0F);
  }
  return values;
}

TensorStatistics statistics_of(const std::vector<std::vector<float>>& batches) {
  TensorStatistics statistics;
  for (const auto& batch : batches) add_range(batch, statistics);
  for (const auto& batch : batches) add_values(batch, statistics);
  return statistics;
}

TEST(MergedStatistics, AreThoseOfAllValues) {
  const std::vector<float> a = values_of(1, -1, 2, true);
  const std::vector<float> b = values_of(2, -3, 1, false);
  std::vector<float> both = a;
  both.insert(both.end(), b.begin(), b.end());
  const TensorStatistics first = statistics_of({a});
  const TensorStatistics second = statistics_of({b});
  const TensorStatistics sum = merged({&first, &second});
  const TensorStatistics expected = statistics_of({both});
  EXPECT_EQ(sum.count, expected.count);
  EXPECT_EQ(sum.zeros, expected.zeros);
  EXPECT_GT(sum.zeros, 1000);
  EXPECT_EQ(sum.min, expected.min);
  EXPECT_EQ(sum.max, expected.max);
  EXPECT_NEAR(sum.sum, expected.sum, 1e-9 * std::abs(expected.sum));
  EXPECT_NEAR(sum.sum_squares, expected.sum_squares, 1e-9 * expected.sum_squares);
  // Values move by half a bin at most.
  const double bin = (static_cast<double>(sum.max) - static_cast<double>(sum.min)) / kHistogramBins;
  for (const double percent : {5.0, 50.0, 95.0}) {
    EXPECT_NEAR(double{percentile(sum, percent)}, double{percentile(expected, percent)}, bin);
  }
  const auto without = bins_without_zeros(sum);
  const auto wanted = bins_without_zeros(expected);
  std::int64_t moved = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < without.size(); ++i) {
    EXPECT_GE(without[i], 0) << i;
    count += without[i] - wanted[i];
    moved = std::max(moved, std::abs(count));
  }
  EXPECT_LE(moved, 20);
}

TEST(MergedStatistics, JoinTheBatches) {
  const TensorStatistics first = statistics_of({{-1, 2}, {0, 5}});
  const TensorStatistics second = statistics_of({{-3, 1}, {1, 4}});
  const TensorStatistics sum = merged({&first, &second});
  EXPECT_EQ(sum.batch_min, (std::vector<float>{-3, 0}));
  EXPECT_EQ(sum.batch_max, (std::vector<float>{2, 5}));
}

TEST(MergedStatistics, OfOneTensorAreItsOwnAndOfOneValueHaveOneBin) {
  const TensorStatistics one = statistics_of({{0, 0, 0}});
  EXPECT_EQ(merged({&one}).bins, one.bins);
  const TensorStatistics sum = merged({&one, &one});
  EXPECT_EQ(sum.bins[0], 6);
  EXPECT_EQ(sum.zeros, 6);
}

}  // namespace
}  // namespace qsim::quantize
