// Ranges and histograms, by hand and beside a plain loop.
#include "quantize/ranges/tensor_statistics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim::quantize {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TensorStatistics statistics_of(const std::vector<std::vector<float>>& batches) {
  TensorStatistics statistics;
  for (const auto& batch : batches) add_range(batch, statistics);
  for (const auto& batch : batches) add_values(batch, statistics);
  return statistics;
}

// Sums of four uniform numbers: bell-shaped, not symmetric about 0.
std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    std::int64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += random.uniform(-1000000, 1500000);
    value = static_cast<float>(sum) * 1e-6F;
  }
  return values;
}

TEST(TensorStatistics, CountsTheBinsOfAHandWorkedTensor) {
  // One bin is 1 wide: 0..2048.
  const TensorStatistics s = statistics_of({{0, 0.5F, 1, 2048}, {2047, 0, -0.0F, 2046.999F}});
  EXPECT_EQ(s.count, 8);
  EXPECT_EQ(s.zeros, 3);
  EXPECT_EQ(s.not_finite, 0);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 2048);
  EXPECT_EQ(s.sum, 0.5 + 1 + 2048 + 2047 + static_cast<double>(2046.999F));
  EXPECT_EQ(s.batch_min, (std::vector<float>{0, 0}));
  EXPECT_EQ(s.batch_max, (std::vector<float>{2048, 2047}));
  ASSERT_EQ(s.bins.size(), 2048U);
  EXPECT_EQ(s.bins[0], 4);
  EXPECT_EQ(s.bins[1], 1);
  EXPECT_EQ(s.bins[2046], 1);
  EXPECT_EQ(s.bins[2047], 2);  // 2047, and max
}

TEST(TensorStatistics, LeavesOutWhatIsNotFinite) {
  const TensorStatistics s = statistics_of({{kNan, 1, kInfinity, -1, -kInfinity}, {kNan, kNan}});
  EXPECT_EQ(s.count, 2);
  EXPECT_EQ(s.not_finite, 5);
  EXPECT_EQ(s.min, -1);
  EXPECT_EQ(s.max, 1);
  EXPECT_EQ(s.sum, 0);
  EXPECT_EQ(s.sum_squares, 2);
  EXPECT_EQ(s.batch_min.size(), 1U);
  EXPECT_EQ(s.bins[0], 1);
  EXPECT_EQ(s.bins[2047], 1);
  const TensorStatistics infinite = statistics_of({{1, kInfinity}, {-1, -kInfinity}});
  EXPECT_EQ(infinite.not_finite, 2);
  EXPECT_EQ(infinite.max, 1);
  EXPECT_EQ(infinite.bins[2047], 1);
  const TensorStatistics none = statistics_of({{kNan}, {}});
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(none.not_finite, 1);
  EXPECT_EQ(percentile(none, 50), 0);
}

TEST(TensorStatistics, AgreesWithAPlainLoopInPartsOfAnyLength) {
  for (const std::size_t length : {1U, 7U, 1023U, 1024U, 1025U, 20011U}) {
    std::vector<std::vector<float>> parts;
    for (std::uint64_t seed = 0; seed < 3; ++seed) parts.push_back(random_values(length, seed));
    parts[1][length / 2] = kNan;
    const TensorStatistics s = statistics_of(parts);
    std::int64_t count = 0;
    double sum = 0;
    double squares = 0;
    std::vector<std::int64_t> bins(kHistogramBins);
    for (const auto& part : parts) {
      for (const float value : part) {
        if (std::isnan(value)) continue;
        ++count;
        sum += value;
        squares += static_cast<double>(value) * value;
        const double width = static_cast<double>(s.max) - s.min;
        const double bin = (static_cast<double>(value) - s.min) * (kHistogramBins / width);
        ++bins[std::min<std::size_t>(static_cast<std::size_t>(bin), kHistogramBins - 1)];
      }
    }
    EXPECT_EQ(s.count, count);
    EXPECT_NEAR(s.sum, sum, 1e-9 * static_cast<double>(count));
    EXPECT_NEAR(s.sum_squares, squares, 1e-9 * squares);
    EXPECT_EQ(s.bins, bins);
  }
}

TEST(TensorStatistics, OneValueIsInTheFirstBin) {
  for (const float value : {0.0F, 5.0F, -3.0F, 0x1p-149F, 3.4e38F}) {
    const TensorStatistics s = statistics_of({std::vector<float>(3000, value)});
    EXPECT_EQ(s.min, value);
    EXPECT_EQ(s.max, value);
    EXPECT_EQ(s.bins[0], 3000);
    EXPECT_EQ(s.zeros, value == 0 ? 3000 : 0);
    EXPECT_EQ(percentile(s, 37), value);
  }
}

TEST(TensorStatistics, RangesOfSubnormalAndHugeValuesHaveBins) {
  const float largest = std::numeric_limits<float>::max();
  const TensorStatistics huge = statistics_of({{-largest, 0, largest, largest}});
  EXPECT_EQ(huge.bins[0], 1);
  EXPECT_EQ(huge.bins[1024], 1);
  EXPECT_EQ(huge.bins[2047], 2);
  const TensorStatistics tiny = statistics_of({{0, 0x1p-149F, 0x1p-148F, 0x1p-148F}});
  EXPECT_EQ(tiny.bins[0], 1);
  EXPECT_EQ(tiny.bins[1024], 1);
  EXPECT_EQ(tiny.bins[2047], 2);
}

TEST(TensorStatistics, PercentilesAreLinearInABin) {
  // 1 in each bin of width 1, and max.
  std::vector<float> values(2049);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TensorStatistics s = statistics_of({values});
  EXPECT_EQ(percentile(s, 0), 0);
  EXPECT_EQ(percentile(s, 100), 2048);
  EXPECT_FLOAT_EQ(percentile(s, 50), 1024.5F);
  EXPECT_FLOAT_EQ(percentile(s, 100 * 10.25 / 2049), 10.25F);
  // The last bin has two values.
  EXPECT_FLOAT_EQ(percentile(s, 100 * 2048.0 / 2049), 2047.5F);
}

TEST(TensorStatistics, PercentilesAreWithinABinOfThoseOfTheSortedValues) {
  std::vector<float> values = random_values(50000, 4);
  const TensorStatistics s = statistics_of({values});
  std::sort(values.begin(), values.end());
  const double bin = (static_cast<double>(s.max) - s.min) / kHistogramBins;
  for (const double percent : {0.01, 0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.99}) {
    const auto at = static_cast<std::size_t>(percent / 100 * 49999);
    EXPECT_NEAR(percentile(s, percent), values[at], 8 * bin) << percent;
    if (percent >= 1 && percent <= 99) {
      EXPECT_NEAR(percentile(s, percent), values[at], 1.1 * bin) << percent;
    }
  }
}

}  // namespace
}  // namespace qsim::quantize
