// The pass that folds the input's zero_point into the bias, and its bound on psums.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::refusal;
using testing::window;

// One 1x1 convolution on one pixel of `weights.size()` channels, with one output channel.
Graph one_channel(const std::vector<std::int8_t>& weights, std::int32_t bias,
                  std::int32_t zero_point) {
  const auto depth = static_cast<std::int64_t>(weights.size());
  GraphBuilder builder(1, picture(1, 1, 1, depth, zero_point));
  builder.conv(1, window(1));
  auto& conv = std::get<Conv2d>(builder.last_layer().operation);
  conv.weights = make_tensor<std::int8_t>({1, 1, 1, depth}, weights);
  conv.bias = make_tensor<std::int32_t>({1}, std::vector<std::int32_t>{bias});
  return builder.build();
}

TEST(FoldZeroPoints, TheBiasTakesTheZeroPointTimesTheSumOfTheWeights) {
  const Graph graph = one_channel({3, -5, 100}, 17, -7);
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
  EXPECT_EQ(layers[0].bias[0], 17 + 7 * 98);
  EXPECT_EQ(layers[0].pad_value, -7);
}

TEST(FoldZeroPoints, AnUnsignedZeroPointIsCarriedMinus128) {
  Graph graph = one_channel({3, -5, 100}, 17, 0);
  graph.input_value().dtype = DType::kUint8;
  graph.input_value().zero_point = 3;
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_zero_points(layers);
  EXPECT_EQ(layers[0].pad_value, -125);
  EXPECT_EQ(layers[0].bias[0], 17 + 125 * 98);
}

TEST(FoldZeroPoints, ABiasThatLeavesInt32IsRefused) {
  const Graph graph = one_channel({127}, 2147483647, -128);
  std::vector<FusedLayer> layers = fuse_layers(graph);
  EXPECT_EQ(refusal([&] { fold_zero_points(layers); }, ExitCode::kUnsupportedModel),
            "layer 'conv0': bias of output channel 0 becomes 2147499903 with the input zero_point "
            "folded in; it must fit int32");
}

TEST(FoldZeroPoints, WhatIsRefusedHasItsPlaceInTheFile) {
  const auto refused = [](std::int32_t bias, std::int32_t zero_point) {
    Graph graph = one_channel({127}, bias, zero_point);
    graph.layers[0].source = "net.onnx: node 'conv0' (QLinearConv)";
    std::vector<FusedLayer> layers = fuse_layers(graph);
    return refusal([&] { fold_zero_points(layers); }, ExitCode::kUnsupportedModel);
  };
  EXPECT_EQ(refused(2147483647, -128),
            "net.onnx: node 'conv0' (QLinearConv): bias of output channel 0 becomes 2147499903 "
            "with the input zero_point folded in; it must fit int32");
  EXPECT_EQ(refused(2147483647, 0),
            "net.onnx: node 'conv0' (QLinearConv): psums of output channel 0 can reach 2147499903; "
            "they must stay below 2^31");
}

TEST(FoldZeroPoints, ThePsumBoundIsTightToOne) {
  // Largest psum: 127 * 127 (weight 127, input 127) against |-128 * 127|: the bound is 16256.
  const Graph fits = one_channel({127}, 2147483647 - 16256, 0);
  std::vector<FusedLayer> layers = fuse_layers(fits);
  EXPECT_NO_THROW(fold_zero_points(layers));
  const Graph exceeds = one_channel({127}, 2147483647 - 16255, 0);
  layers = fuse_layers(exceeds);
  EXPECT_NE(refusal([&] { fold_zero_points(layers); }, ExitCode::kUnsupportedModel)
                .find("can reach 2147483648"),
            std::string::npos);
}

// The bound of many weights, by its definition: the extremes, and random ones.
TEST(FoldZeroPoints, ThePsumBoundOfManyWeightsIsTightToOne) {
  std::vector<std::vector<std::int8_t>> channels = {std::vector<std::int8_t>(1000, -128),
                                                    std::vector<std::int8_t>(1000, 127)};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<std::int8_t> weights(static_cast<std::size_t>(random.uniform(1, 700)));
    for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(random.next());
    channels.push_back(weights);
  }
  for (const std::vector<std::int8_t>& weights : channels) {
    std::int64_t highest = 0;
    std::int64_t lowest = 0;
    for (const std::int8_t weight : weights) {
      highest += std::max(127 * weight, -128 * weight);
      lowest += std::min(127 * weight, -128 * weight);
    }
    const std::int64_t bound = std::max(highest, -lowest);
    const auto fold = [&](std::int64_t bias) {
      const Graph graph = one_channel(weights, static_cast<std::int32_t>(bias), 0);
      std::vector<FusedLayer> layers = fuse_layers(graph);
      fold_zero_points(layers);
    };
    EXPECT_NO_THROW(fold(2147483647 - bound));
    EXPECT_THROW(fold(2147483647 - bound + 1), Error);
  }
}

// bound = 128 * 127 (a product of 127 or -127 with input -128 or 127) + |bias| <= 2^31 - 1.
TEST(FoldZeroPoints, ThePsumBoundIsTightForNegativeWeightsAndBiasesToo) {
  const auto fold = [](std::int8_t weight, std::int32_t bias) {
    return [=] {
      const Graph graph = one_channel({weight}, bias, 0);
      std::vector<FusedLayer> layers = fuse_layers(graph);
      fold_zero_points(layers);
    };
  };
  for (const auto weight : {std::int8_t{127}, std::int8_t{-127}}) {
    for (const std::int32_t sign : {1, -1}) {
      EXPECT_NO_THROW(fold(weight, sign * (2147483647 - 16256))());
      EXPECT_NE(refusal(fold(weight, sign * (2147483647 - 16255)), ExitCode::kUnsupportedModel)
                    .find("can reach 2147483648"),
                std::string::npos);
    }
  }
}

TEST(FoldZeroPoints, TheLowestBiasFitsInt32ButLeavesNoRoomForPsums) {
  const Graph graph = one_channel({0}, -2147483647 - 1, 0);
  std::vector<FusedLayer> layers = fuse_layers(graph);
  EXPECT_EQ(refusal([&] { fold_zero_points(layers); }, ExitCode::kUnsupportedModel),
            "layer 'conv0': psums of output channel 0 can reach 2147483648; they must stay below "
            "2^31");
}

}  // namespace
}  // namespace qsim
