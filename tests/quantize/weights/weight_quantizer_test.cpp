// Weights as integers, by hand and beside searches that try everything.
#include "quantize/weights/weight_quantizer.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

Tensor weights_of(Shape shape, const std::vector<float>& values) {
  return make_tensor<float>(std::move(shape), values);
}

std::vector<std::int16_t> levels_of(const QuantizedWeights& weights) {
  const std::span<const std::int16_t> levels = weights.levels.as<std::int16_t>();
  return {levels.begin(), levels.end()};
}

using Integers = std::vector<std::int16_t>;

TEST(WeightQuantizer, HasOneScaleAChannelOrOneATensor) {
  const Tensor weights = weights_of({2, 2}, {127, -64, 0.5F, -0.25F});
  WeightScheme scheme;
  const QuantizedWeights each = quantize_weights(weights, scheme, "conv");
  EXPECT_EQ(each.scales, (std::vector<float>{1, 0.5F / 127}));
  EXPECT_EQ(each.zero_points, (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(levels_of(each), (Integers{127, -64, 127, -64}));  // -63.5: half to even
  scheme.per_channel = false;
  const QuantizedWeights whole = quantize_weights(weights, scheme, "conv");
  EXPECT_EQ(whole.scales, (std::vector<float>{1}));
  EXPECT_EQ(levels_of(whole), (Integers{127, -64, 0, 0}));  // 0.5: half to even
  const Tensor real = dequantize(whole);
  EXPECT_EQ(std::vector<float>(real.as<float>().begin(), real.as<float>().end()),
            (std::vector<float>{127, -64, 0, 0}));
}

TEST(WeightQuantizer, ScaleKindsRoundTheScale) {
  const Tensor weights = weights_of({1, 2}, {100, -30});
  WeightScheme scheme{.kind = ScaleKind::kPowerOfTwo};
  EXPECT_EQ(quantize_weights(weights, scheme, "").scales[0], 1);
  scheme.kind = ScaleKind::kDyadic;  // 100 / 127 = 201.57 / 256
  EXPECT_EQ(quantize_weights(weights, scheme, "").scales[0], 202.0F / 256);
}

TEST(WeightQuantizer, ExponentsKeepTheirLimits) {
  const WeightScheme scheme{.kind = ScaleKind::kPowerOfTwo};
  const Tensor weights = weights_of({3, 2}, {100, -30, 0x1p-20F, 0, 0, 0});
  const QuantizedWeights limited = quantize_weights(weights, scheme, "", {.least = -9, .most = -2});
  EXPECT_EQ(limited.scales, (std::vector<float>{0.25F, 0x1p-9F, 0.25F}));
  EXPECT_EQ(levels_of(limited), (Integers{127, -120, 0, 0, 0, 0}));
}

TEST(WeightQuantizer, AChannelOfZerosHasScaleOne) {
  const Tensor weights = weights_of({2, 2}, {0, 0, 1, -1});
  for (const Symmetry symmetry : {Symmetry::kAffine, Symmetry::kSymmetric}) {
    for (const bool is_unsigned : {false, true}) {
      for (int bits : {1, 2, 8}) {
        const WeightScheme scheme{.levels = {.bits = bits, .is_unsigned = is_unsigned},
                                  .symmetry = symmetry};
        const QuantizedWeights q = quantize_weights(weights, scheme, "");
        EXPECT_EQ(q.scales[0], 1);
        EXPECT_EQ(levels_of(q)[0], q.zero_points[0]);
        EXPECT_EQ(levels_of(q)[1], q.zero_points[0]);
      }
    }
  }
}

TEST(WeightQuantizer, SymmetricUnsignedWeightsHaveOneZeroPoint) {
  const Tensor weights = weights_of({3, 2}, {1, 2, 0, 0, -1, 1});
  const WeightScheme scheme{.levels = {.bits = 8, .is_unsigned = true},
                            .symmetry = Symmetry::kSymmetric};
  EXPECT_EQ(quantize_weights(weights, scheme, "").zero_points,
            (std::vector<std::int32_t>{128, 128, 128}));
  EXPECT_EQ(quantize_weights(weights_of({2, 1}, {1, 2}), scheme, "").zero_points,
            (std::vector<std::int32_t>{0, 0}));
}

TEST(WeightQuantizer, OneBitIsTheSignTimesTheMean) {
  const WeightScheme scheme{.levels = {.bits = 1, .is_unsigned = false}};
  const QuantizedWeights q = quantize_weights(weights_of({1, 4}, {1, -2, 0, 3}), scheme, "");
  EXPECT_EQ(levels_of(q), (Integers{1, -1, 1, 1}));
  EXPECT_EQ(q.scales[0], 1.5F);
  WeightScheme shifts = scheme;
  shifts.kind = ScaleKind::kPowerOfTwo;  // 1.45 is nearer to 1, 1.55 to 2
  EXPECT_EQ(quantize_weights(weights_of({1, 2}, {1.4F, -1.5F}), shifts, "").scales[0], 1);
  EXPECT_EQ(quantize_weights(weights_of({1, 2}, {1.6F, -1.5F}), shifts, "").scales[0], 2);
  EXPECT_EQ(quantize_weights(weights_of({1, 2}, {1, 1}), shifts, "", {.most = -3}).scales[0],
            0.125F);
}

TEST(WeightQuantizer, PercentilesAreThoseOfTheSortedWeights) {
  const WeightScheme scheme{
      .levels = {.bits = 8, .is_unsigned = true},
      .symmetry = Symmetry::kAffine,
      .clipping = {.rule = ClippingRule::kPercentile, .percentile_low = 25, .percentile_high = 90}};
  // Positions 1 and 3.6 of -4, -2, 0, 3, 8: -2 and 6.
  const QuantizedWeights q = quantize_weights(weights_of({1, 5}, {8, -4, 0, 3, -2}), scheme, "");
  EXPECT_FLOAT_EQ(q.scales[0], 8.0F / 255);
  EXPECT_EQ(q.zero_points[0], 64);
  EXPECT_EQ(levels_of(q), (Integers{255, 0, 64, 160, 0}));
}

TEST(WeightQuantizer, Log2WeightsAreSignAndExponent) {
  WeightScheme scheme{.levels = {.bits = 4, .is_unsigned = false}, .log2 = true};
  // The largest is 2^6 steps; 0.7 is below 2^-0.5 steps.
  const QuantizedWeights q = quantize_weights(
      weights_of({1, 8}, {-64, 45, 46, 0.7F, -0.71F, 1.41F, 1.42F, 0}), scheme, "");
  EXPECT_EQ(q.scales[0], 1);
  EXPECT_EQ(levels_of(q), (Integers{-64, 32, 64, 0, -1, 1, 2, 0}));
  EXPECT_TRUE(fits_int8(q));
  scheme.levels.bits = 5;
  EXPECT_FALSE(fits_int8(quantize_weights(weights_of({1, 2}, {1, 2}), scheme, "")));
  for (const int bits : {1, 6, 8}) {
    scheme.levels.bits = bits;
    EXPECT_THROW(quantize_weights(weights_of({1, 2}, {1, 2}), scheme, ""), Error);
  }
}

TEST(WeightQuantizer, Log2ScalesTakeTheSchemesRangeAndKind) {
  const Tensor weights = weights_of({1, 5}, {3, -6, 1, 2, 100});
  WeightScheme scheme{.levels = {.bits = 4, .is_unsigned = false}, .log2 = true};
  scheme.clipping = {.rule = ClippingRule::kPercentile, .percentile_low = 0, .percentile_high = 75};
  EXPECT_EQ(quantize_weights(weights, scheme, "").scales[0], 6.0F / 64);
  scheme.clipping = {.rule = ClippingRule::kFixed, .fixed = {-1, 8}};
  EXPECT_EQ(quantize_weights(weights, scheme, "").scales[0], 8.0F / 64);
  scheme.clipping = {};
  scheme.kind = ScaleKind::kPowerOfTwo;  // log2(100) = 6.64
  EXPECT_EQ(quantize_weights(weights, scheme, "").scales[0], 128.0F / 64);
  EXPECT_EQ(quantize_weights(weights, scheme, "", {.least = -3, .most = -1}).scales[0], 0.5F);
  scheme.kind = ScaleKind::kDyadic;
  EXPECT_EQ(quantize_weights(weights, scheme, "").scales[0], 100.0F / 64);
}

TEST(WeightQuantizer, SaysWhatFitsInt8) {
  WeightScheme scheme{.levels = {.bits = 8, .is_unsigned = true}, .symmetry = Symmetry::kAffine};
  EXPECT_TRUE(fits_int8(quantize_weights(weights_of({1, 2}, {-128, 127}), scheme, "")));
  EXPECT_FALSE(fits_int8(quantize_weights(weights_of({1, 2}, {-200, 55}), scheme, "")));
  EXPECT_FALSE(fits_int8(quantize_weights(weights_of({1, 2}, {-55, 200}), scheme, "")));
  scheme.symmetry = Symmetry::kSymmetric;
  EXPECT_TRUE(fits_int8(quantize_weights(weights_of({1, 2}, {-200, 55}), scheme, "")));
}

TEST(WeightQuantizer, NamesTheLayerOfWeightsThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  try {
    quantize_weights(weights_of({1, 3}, {1, nan, nan}), {}, "layer 'conv1'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(std::string(error.what()),
              "layer 'conv1': 2 of 3 weights are not finite, first weight 1 (nan); allowed are "
              "finite numbers");
  }
  for (const ClippingRule rule : {ClippingRule::kEntropy, ClippingRule::kMovingAverage}) {
    EXPECT_THROW(quantize_weights(weights_of({1, 1}, {1}), {.clipping = {.rule = rule}}, ""),
                 Error);
  }
}

}  // namespace
}  // namespace qsim::quantize
