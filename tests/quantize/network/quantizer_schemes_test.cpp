// What the options of a scheme make of the Graph.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

const Conv2d& conv_of(const JudgedRun& run, std::size_t layer) {
  return std::get<Conv2d>(run.network.graph.layers[layer].operation);
}

TEST(QuantizerSchemes, PowerOfTwoChainsShiftBy0To16) {
  SampleNetwork net = chain();
  // A channel of small weights, whose own exponent would need a larger shift.
  for (float& weight : net.conv_at(0).weights.as<float>().first(27)) weight *= 0x1p-20F;
  const JudgedRun run = run_of(net, scheme_of_type(true, ScaleKind::kPowerOfTwo));
  for (const std::size_t layer : {0U, 1U}) {
    const Requantization& requantization = conv_of(run, layer).requantization;
    EXPECT_TRUE(requantization.requantizers.empty());
    ASSERT_EQ(std::ssize(requantization.shifts), layer == 0 ? 8 : 4);
    for (const int shift : requantization.shifts) EXPECT_LE(shift, 16);
  }
  EXPECT_EQ(conv_of(run, 0).requantization.shifts[0], 16);
  for (const Value& value : run.network.graph.tensors) EXPECT_TRUE(value.scale_exponent());
}

TEST(QuantizerSchemes, DyadicMultipliersHave8Bits) {
  SampleNetwork net = chain();
  const JudgedRun run = run_of(net, scheme_of_type(false, ScaleKind::kDyadic));
  std::uint32_t low_bits = 0;
  bool is_power = true;
  for (const std::size_t layer : {0U, 1U}) {
    for (const Requantizer& each : conv_of(run, layer).requantization.requantizers) {
      low_bits |= each.multiplier & 0xFFFF;
      is_power &= each.multiplier == kLeastMultiplier;
    }
  }
  EXPECT_EQ(low_bits, 0U);
  EXPECT_FALSE(is_power);
}

TEST(QuantizerSchemes, FewerBitsOfActivationsNarrowEveryClamp) {
  SampleNetwork net(kPicture);
  const TensorId conv = net.conv(0, 8);
  const TensorId table = net.activation(conv, {.kind = Activation::Kind::kSigmoid});
  net.add(net.average_pool(table, 1), net.conv(table, 8));
  Scheme scheme = scheme_of_type(true);
  scheme.all.activations.bits = 4;
  const JudgedRun run = run_of(net, scheme);
  for (const Tensor& levels : run.levels) {
    const std::vector<int> each = levels_of(levels);
    EXPECT_EQ(*std::ranges::min_element(each), 0);
    EXPECT_EQ(*std::ranges::max_element(each), 15);
  }
  EXPECT_GT(output_sqnr(run), 12);
}

TEST(QuantizerSchemes, ClipBoundsAreThoseOfTheQuantizedBounds) {
  SampleNetwork net(kPicture);
  net.conv(net.clip(net.conv(0, 8), -0.5F, 0.25F), 4);
  Scheme scheme = scheme_of_type(true);
  scheme.all.clipping = {.rule = ClippingRule::kFixed, .fixed = {-1, 0.9921875F}};
  const JudgedRun run = run_of(net, scheme);
  const Value& value = run.network.graph.output_of(0);
  EXPECT_EQ(value.zero_point, 128);
  EXPECT_EQ(conv_of(run, 0).requantization.lo, 64);
  EXPECT_EQ(conv_of(run, 0).requantization.hi, 160);
}

TEST(QuantizerSchemes, AffineWeightsLoseTheirZeroPoint) {
  SampleNetwork net = chain();
  for (float& weight : net.conv_at(0).weights.as<float>()) weight += 0.2F;
  Scheme scheme = scheme_of_type(true);
  scheme.all.weights.levels = {.bits = 8, .is_unsigned = true};
  scheme.all.weights.symmetry = Symmetry::kAffine;
  scheme.all.weights.per_channel = false;
  const JudgedRun run = run_of(net, scheme);
  const WeightScales& stored = run.network.weights[0];
  ASSERT_EQ(stored.scales.size(), 1U);
  ASSERT_EQ(stored.zero_points.size(), 1U);
  EXPECT_GT(stored.zero_points[0], 0);
  EXPECT_LT(stored.zero_points[0], 128);
  EXPECT_EQ(conv_of(run, 0).weights.dtype, DType::kInt16);
  EXPECT_EQ(conv_of(run, 0).requantization.requantizers.size(), 1U);
  EXPECT_GT(output_sqnr(run), 30);
}

TEST(QuantizerSchemes, SignedWeightsWithAZeroPointAreStoredUnsigned) {
  SampleNetwork net = chain();
  for (float& weight : net.conv_at(0).weights.as<float>()) weight += 0.2F;
  Scheme scheme = scheme_of_type(true);
  scheme.all.weights.symmetry = Symmetry::kAffine;
  const JudgedRun run = run_of(net, scheme);
  const WeightScales& stored = run.network.weights[0];
  ASSERT_EQ(stored.zero_points.size(), 8U);
  const auto weights = conv_of(run, 0).weights.as<std::int16_t>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const int level = weights[i] + stored.zero_points[i / 27];
    EXPECT_TRUE(level >= 0 && level <= 255) << level;
  }
  EXPECT_GT(output_sqnr(run), 30);
}

TEST(QuantizerSchemes, WeightsFarFromZeroAreStoredWithTheirZeroPointToo) {
  for (const float sign : {-1.0F, 1.0F}) {
    SampleNetwork net = chain();
    for (float& weight : net.conv_at(0).weights.as<float>()) {
      weight = sign * (1 + 0.1F * std::abs(weight));
    }
    Scheme scheme = scheme_of_type(true);
    scheme.all.weights.levels.reduced = false;
    scheme.all.weights.symmetry = Symmetry::kAffine;
    scheme.all.weights.per_channel = false;
    const JudgedRun run = run_of(net, scheme);
    ASSERT_EQ(run.network.weights[0].zero_points, std::vector<std::int32_t>{sign < 0 ? 255 : 0});
    const auto [least, most] = std::ranges::minmax(conv_of(run, 0).weights.as<std::int16_t>());
    EXPECT_EQ(sign < 0 ? least : most, sign < 0 ? -255 : 255);
    EXPECT_GT(sign < 0 ? -most : least, 150);
    EXPECT_GT(output_sqnr(run), 30);
  }
}

TEST(QuantizerSchemes, ADeadChannelKeepsItsBias) {
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo}) {
    SampleNetwork net = chain();
    for (float& weight : net.conv_at(0).weights.as<float>().subspan(27, 27)) weight = 0;
    net.conv_at(0).bias.as<float>()[1] = 0.7F;
    const JudgedRun run = run_of(net, scheme_of_type(true, kind));
    const PlainTensor& made = run.quantized[1];
    const double scale = double{run.network.graph.output_of(0).scale->real()};
    EXPECT_NEAR(made.at(0, 0, 0, 1), 0.7, 0.51 * scale);
    EXPECT_EQ(conv_of(run, 0).requantization.shifts.empty(), kind == ScaleKind::kFloat);
  }
}

TEST(QuantizerSchemes, ACoarserScaleHoldsALargeBias) {
  // The first factor leaves some bits of the weights, the second none.
  for (const float factor : {2e-6F, 1e-9F}) {
    SampleNetwork net = chain();
    for (float& weight : net.conv_at(0).weights.as<float>().subspan(27, 27)) weight *= factor;
    net.conv_at(0).bias.as<float>()[1] = 0.7F;
    const JudgedRun run = run_of(net, scheme_of_type(true));
    const double scale = double{run.network.graph.output_of(0).scale->real()};
    EXPECT_NEAR(run.quantized[1].at(0, 0, 0, 1), 0.7, 0.51 * scale);
    const auto weights = conv_of(run, 0).weights.as<std::int8_t>().subspan(27, 27);
    EXPECT_EQ(std::ranges::any_of(weights, [](auto w) { return w != 0; }), factor > 1e-6F);
    EXPECT_GT(conv_of(run, 0).bias.as<std::int32_t>()[1], factor > 1e-6F ? 1 << 29 : 1 << 20);
    EXPECT_GT(output_sqnr(run), 30);
  }
}

TEST(QuantizerSchemes, AnAddWithFarScalesWidensThem) {
  SampleNetwork net(kPicture);
  const TensorId large = net.conv(0, 4);
  const TensorId small = net.conv(0, 4);
  for (float& weight : net.conv_at(1).weights.as<float>()) weight *= 1e-7F;
  for (float& bias : net.conv_at(1).bias.as<float>()) bias *= 1e-7F;
  net.add(large, small);
  const JudgedRun run = run_of(net, scheme_of_type(true));
  EXPECT_GT(output_sqnr(run), 30);
}

TEST(QuantizerSchemes, ALayerHasTheSchemeThatNamesItOrItsRelu) {
  SampleNetwork net = chain();
  Scheme scheme = scheme_of_type(true);
  LayerScheme four = scheme.all;
  four.activations.bits = 4;
  four.weights.levels.bits = 4;
  scheme.layers["relu1"] = four;
  scheme.layers["conv2"] = four;
  const JudgedRun run = run_of(net, scheme);
  EXPECT_EQ(run.quantizations[2]->hi, 15);
  const auto first = conv_of(run, 0).weights.as<std::int8_t>();
  const auto second = conv_of(run, 1).weights.as<std::int8_t>();
  EXPECT_EQ(*std::ranges::max_element(second), 7);
  EXPECT_GT(*std::ranges::max_element(first), 100);
}

TEST(QuantizerSchemes, TheInputHasItsOwnScheme) {
  SampleNetwork net = chain();
  Scheme scheme = scheme_of_type(true);
  scheme.input.clipping = {.rule = ClippingRule::kFixed, .fixed = {-2, 1.984375F}};
  const JudgedRun run = run_of(net, scheme);
  EXPECT_EQ(run.network.graph.input_value().scale->real(), 0x1p-6F);
  EXPECT_EQ(run.network.graph.input_value().zero_point, 128);
}

TEST(QuantizerSchemes, DecidedWeightsAndBiasesAreTaken) {
  SampleNetwork net = chain();
  LayerWeights decided;
  decided.weights = QuantizedWeights{Tensor(DType::kInt16, {4, 3, 3, 8}), {0.5F}, {0}};
  for (std::int16_t& level : decided.weights->levels.as<std::int16_t>()) level = 1;
  decided.bias = std::vector<float>{1, 2, 3, 4};
  JudgedRun run;
  const std::vector<PlainTensor> reals = plain_run(net.graph(), net.picture());
  const Scheme scheme = scheme_of_type(true);
  run.quantizations = quantize_tensors(net.graph(), plain_statistics(reals), scheme);
  run.network = quantize_network(net.graph(), run.quantizations, scheme, {{2, decided}});
  const Conv2d& conv = conv_of(run, 1);
  EXPECT_TRUE(std::ranges::all_of(conv.weights.as<std::int8_t>(), [](auto w) { return w == 1; }));
  const double unit = 0.5 * double{run.quantizations[2]->scale};
  EXPECT_EQ(conv.bias.as<std::int32_t>()[3], static_cast<int>(std::nearbyint(4 / unit)));
}

}  // namespace
}  // namespace qsim::quantize
