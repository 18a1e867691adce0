// Equalized networks compute what they did, with channels of one range.
#include "quantize/equalization.h"

#include <cmath>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "tests/quantize/network/sample_networks.h"

namespace qsim::quantize {
namespace {

Activation leaky() { return {.kind = Activation::Kind::kLeakyRelu, .alpha = 0.1F}; }

// conv, relu, depthwise, leaky_relu, pools, flatten, linear, relu, linear; channels of very
// different ranges.
SampleNetwork chain(Flatten::Order order) {
  SampleNetwork sample({2, 8, 8, 3});
  TensorId x = sample.relu(sample.conv(sample.graph().input, 8));
  x = sample.activation(sample.conv(x, 8, 3, 1, 8), leaky());
  x = sample.average_pool(sample.max_pool(x), 2);
  x = sample.relu(sample.linear(sample.flatten(x, order), 6));
  sample.linear(x, 5);
  for (const std::size_t layer : {0, 2}) {
    Conv2d& conv = sample.conv_at(layer);
    const auto weights = conv.weights.as<float>();
    const std::size_t each = weights.size() / 8;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const int exponent = static_cast<int>(i / each * 5 % 8) - 4;
      weights[i] = std::ldexp(weights[i], layer == 0 ? exponent : -exponent / 2);
    }
  }
  return sample;
}

Tensor output_of(const Graph& graph, const Tensor& input) {
  golden::ThreadTeam team(1);
  return golden::RealExecutor(graph).run(input, team);
}

// Largest magnitude of each output channel's weights.
std::vector<double> output_ranges(const Tensor& weights) {
  std::vector<double> ranges(static_cast<std::size_t>(weights.shape[0]));
  const auto values = weights.as<float>();
  const std::size_t each = values.size() / ranges.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ranges[i / each] = std::max(ranges[i / each], std::abs(double{values[i]}));
  }
  return ranges;
}

TEST(Equalization, ByPowersOfTwoKeepsTheBitsOfTheOutputInBothOrdersOfFlatten) {
  for (const auto order : {Flatten::Order::kChw, Flatten::Order::kHwc}) {
    const SampleNetwork sample = chain(order);
    const EqualizedGraph equalized = equalize(sample.graph());
    ASSERT_EQ(equalized.pairs.size(), 3U);
    EXPECT_EQ(equalized.pairs[0].first, 0U);  // conv, depthwise
    EXPECT_EQ(equalized.pairs[1].first, 2U);  // depthwise, linear
    EXPECT_EQ(equalized.pairs[1].second, 7U);
    EXPECT_EQ(equalized.pairs[2].second, 9U);
    EXPECT_TRUE(equalized.left_out.empty());
    EXPECT_LT(equalized.rounds, 100);
    const Tensor input = seeded_input(5, sample.graph());
    EXPECT_EQ(output_of(equalized.graph, input), output_of(sample.graph(), input));
    EXPECT_NE(std::get<Conv2d>(equalized.graph.layers[0].operation).weights,
              std::get<Conv2d>(sample.graph().layers[0].operation).weights);
  }
}

TEST(Equalization, MakesTheRangesOfAChannelEqualInBothLayersOfADepthwisePair) {
  const SampleNetwork sample = chain(Flatten::Order::kChw);
  const EqualizedGraph equalized =
      equalize(sample.graph(), {.powers_of_two = false, .most_rounds = 100});
  const auto weights = [&](std::size_t layer) -> const Tensor& {
    return std::get<Conv2d>(equalized.graph.layers[layer].operation).weights;
  };
  const std::vector<double> first = output_ranges(weights(0));
  const std::vector<double> second = output_ranges(weights(2));
  for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(first[c] / second[c], 1, 0.01) << c;
  // The linear layer's elements 4c to 4c + 3 are channel c: 2 x 2 pixels are left.
  const auto linear = std::get<FullyConnected>(equalized.graph.layers[7].operation).weights;
  const auto values = linear.as<float>();
  std::vector<double> third(8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i % 32 / 4;
    third[c] = std::max(third[c], std::abs(double{values[i]}));
  }
  for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(second[c] / third[c], 1, 0.01) << c;
}

TEST(Equalization, ByAnyFactorKeepsTheOutputToRounding) {
  const SampleNetwork sample = chain(Flatten::Order::kChw);
  const EqualizedGraph equalized =
      equalize(sample.graph(), {.powers_of_two = false, .most_rounds = 100});
  const Tensor input = seeded_input(5, sample.graph());
  const Tensor before = output_of(sample.graph(), input);
  const Tensor after = output_of(equalized.graph, input);
  // Each weight and bias is rounded once in a round, twice in a depthwise layer, and each of at
  // most 72 products and sums of a layer is; 4 layers. Sums of magnitudes are below 64 here.
  const double bound = 4 * (2.0 * equalized.rounds + 72) * 0x1p-24 * 64;
  EXPECT_LT(bound, 0.01);
  for (std::size_t i = 0; i < before.as<float>().size(); ++i) {
    EXPECT_NEAR(after.as<float>()[i], before.as<float>()[i], bound);
  }
}

TEST(Equalization, LeavesDeadChannelsOfEitherLayer) {
  SampleNetwork sample({1, 4, 4, 2});
  sample.conv(sample.relu(sample.conv(sample.graph().input, 3)), 4);
  auto first = sample.conv_at(0).weights.as<float>();
  auto second = sample.conv_at(2).weights.as<float>();
  std::fill_n(first.begin(), 18, 0.0F);                              // channel 0 gives nothing
  for (std::size_t i = 1; i < second.size(); i += 3) second[i] = 0;  // nobody reads channel 1
  for (std::size_t i = 2; i < second.size(); i += 3) second[i] *= 16;
  const EqualizedGraph equalized = equalize(sample.graph());
  const Tensor& after = std::get<Conv2d>(equalized.graph.layers[0].operation).weights;
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 36, after.as<float>().begin()));
  EXPECT_NE(after, sample.conv_at(0).weights);  // channel 2 has changed
  EXPECT_EQ(std::get<Conv2d>(equalized.graph.layers[0].operation).bias.as<float>()[0],
            sample.conv_at(0).bias.as<float>()[0]);
}

TEST(Equalization, LeavesPairsAcrossClipAndSigmoidAndSaysSo) {
  SampleNetwork sample({1, 4, 4, 2});
  TensorId x = sample.clip(sample.conv(sample.graph().input, 4), 0, 6);
  x = sample.activation(sample.conv(x, 4), {.kind = Activation::Kind::kSigmoid});
  sample.conv(x, 4);
  const EqualizedGraph equalized = equalize(sample.graph());
  EXPECT_TRUE(equalized.pairs.empty());
  ASSERT_EQ(equalized.left_out.size(), 2U);
  EXPECT_EQ(equalized.left_out[0], "conv0: clip 'clip1' depends on the size of its input");
  EXPECT_EQ(equalized.left_out[1], "conv2: sigmoid 'sigmoid3' depends on the size of its input");
  EXPECT_EQ(equalized.graph.layers[0].operation.index(),
            sample.graph().layers[0].operation.index());
  EXPECT_EQ(std::get<Conv2d>(equalized.graph.layers[0].operation).weights,
            sample.conv_at(0).weights);
}

TEST(Equalization, TakesAClipWithoutAnUpperEndForARelu) {
  SampleNetwork sample({1, 4, 4, 2});
  const float infinity = std::numeric_limits<float>::infinity();
  sample.conv(sample.clip(sample.conv(sample.graph().input, 4), 0, infinity), 4);
  EXPECT_EQ(equalize(sample.graph()).pairs.size(), 1U);
}

TEST(Equalization, LeavesChannelsThatTwoLayersRead) {
  SampleNetwork sample({1, 4, 4, 2});
  const TensorId x = sample.relu(sample.conv(sample.graph().input, 4));
  sample.add(sample.conv(x, 4), x);
  EXPECT_TRUE(equalize(sample.graph()).pairs.empty());
}

}  // namespace
}  // namespace qsim::quantize
