// Observers: by hand, and beside searches that try everything.
#include "quantize/ranges/clipping.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

const Levels kU8 = {.bits = 8, .is_unsigned = true, .reduced = false};

TensorStatistics statistics_of(const std::vector<std::vector<float>>& batches) {
  TensorStatistics statistics;
  for (const auto& batch : batches) add_range(batch, statistics);
  for (const auto& batch : batches) add_values(batch, statistics);
  return statistics;
}

Quantization quantized(const TensorStatistics& statistics, const Clipping& clipping) {
  return activation_quantization(statistics, clipping, kU8, Symmetry::kAffine, ScaleKind::kFloat);
}

TEST(Clipping, EveryRuleHasItsName) {
  EXPECT_EQ(clipping_name(ClippingRule::kMinMax), "min_max");
  EXPECT_EQ(clipping_name(ClippingRule::kMovingAverage), "moving_average");
  EXPECT_EQ(clipping_name(ClippingRule::kPercentile), "percentile");
  EXPECT_EQ(clipping_name(ClippingRule::kMse), "mse");
  EXPECT_EQ(clipping_name(ClippingRule::kEntropy), "entropy");
  EXPECT_EQ(clipping_name(ClippingRule::kFixed), "fixed");
}

TEST(Clipping, MinMaxCoversEveryBatch) {
  const TensorStatistics s = statistics_of({{-1, 0}, {3, 0}, {-2, 1}});
  EXPECT_EQ(quantized(s, {}), quantization_of({-2, 3}, kU8, Symmetry::kAffine, ScaleKind::kFloat));
}

// -1, then -1 + 0.25 * (0 + 1) = -0.75, then -0.75 + 0.25 * (-2 + 0.75) = -1.0625.
TEST(Clipping, MovingAverageStartsAtTheFirstBatch) {
  const TensorStatistics s = statistics_of({{-1, 4}, {3, 0}, {-2, 1}});
  const Clipping clipping{.rule = ClippingRule::kMovingAverage, .moving_average = 0.25};
  EXPECT_EQ(quantized(s, clipping),
            quantization_of({-1.0625F, 3.0625F}, kU8, Symmetry::kAffine, ScaleKind::kFloat));
}

TEST(Clipping, PercentilesClipBothEnds) {
  std::vector<float> values;
  for (int i = -1024; i <= 1024; ++i) values.push_back(static_cast<float>(i));
  const Clipping clipping{
      .rule = ClippingRule::kPercentile, .percentile_low = 10, .percentile_high = 95};
  const auto at = [](double percent) { return static_cast<float>(20.49 * percent - 1024); };
  const Quantization expected =
      quantization_of({at(10), at(95)}, kU8, Symmetry::kAffine, ScaleKind::kFloat);
  const Quantization q = quantized(statistics_of({values}), clipping);
  EXPECT_FLOAT_EQ(q.scale, expected.scale);
  EXPECT_EQ(q.zero_point, expected.zero_point);
}

TEST(Clipping, FixedRangesNeedNoValue) {
  const Clipping clipping{.rule = ClippingRule::kFixed, .fixed = {-6, 6}};
  EXPECT_EQ(quantized({}, clipping),
            quantization_of({-6, 6}, kU8, Symmetry::kAffine, ScaleKind::kFloat));
}

TEST(Clipping, OptionsThatMeanNothingAreErrors) {
  const TensorStatistics s = statistics_of({{-1, 4}});
  const auto percentiles = [](double low, double high) {
    return Clipping{
        .rule = ClippingRule::kPercentile, .percentile_low = low, .percentile_high = high};
  };
  for (const auto& [low, high] :
       {std::pair{-1.0, 50.0}, {50.0, 50.0}, {60.0, 50.0}, {0.0, 101.0}}) {
    EXPECT_THROW(quantized(s, percentiles(low, high)), Error);
  }
  for (const double constant : {0.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_THROW(quantized(s, {.rule = ClippingRule::kMovingAverage, .moving_average = constant}),
                 Error);
  }
  EXPECT_THROW(quantized(s, {.rule = ClippingRule::kFixed, .fixed = {2, 1}}), Error);
  const Levels one{.bits = 1, .is_unsigned = false, .reduced = false};
  EXPECT_THROW(activation_quantization(s, {}, one, Symmetry::kSymmetric, ScaleKind::kFloat), Error);
}

}  // namespace
}  // namespace qsim::quantize
