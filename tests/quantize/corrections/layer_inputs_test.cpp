// Sampled inputs of a layer, times its weights, are the layer's sums.
#include "quantize/layer_inputs.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "tests/quantize/network/sample_networks.h"

namespace qsim::quantize {
namespace {

void expect_sums(SampleNetwork& sample, const Tensor& input) {
  const Graph& graph = sample.graph();
  const Operation& operation = graph.layers[0].operation;
  golden::ThreadTeam team(1);
  const Tensor output = golden::RealExecutor(graph).run(input, team);
  const auto positions = sample_positions(graph.output_shape(), 1'000'000, 1);
  const auto rows = inputs_at(operation, input, positions);
  const auto weights = weights_by_group(operation);
  ASSERT_EQ(static_cast<std::int64_t>(positions.size() * static_cast<std::size_t>(output.shape[3])),
            output.elems());
  const auto* conv = std::get_if<Conv2d>(&operation);
  const auto bias =
      (conv != nullptr ? conv->bias : std::get<FullyConnected>(operation).bias).as<float>();
  for (std::size_t p = 0; p < positions.size(); ++p) {
    for (std::size_t channel = 0; channel < bias.size(); ++channel) {
      const auto group = channel / static_cast<std::size_t>(weights[0].rows);
      const auto row = static_cast<std::int64_t>(channel) % weights[0].rows;
      double sum = bias[channel];
      for (std::size_t k = 0; k < static_cast<std::size_t>(weights[0].columns); ++k) {
        sum += double{weights[group].row(row)[k]} *
               double{rows[group].row(static_cast<std::int64_t>(p))[k]};
      }
      ASSERT_NEAR(output.as<float>()[p * bias.size() + channel], sum, 1e-4);
    }
  }
}

TEST(LayerInputs, TimesTheWeightsAreTheSumsOfConvolutionsAndLinearLayers) {
  for (const std::int64_t groups : {1, 2, 6}) {
    SampleNetwork sample({3, 7, 5, 6});
    sample.conv(sample.graph().input, 12, 3, 2, groups);
    expect_sums(sample, seeded_input(6, sample.graph()));
  }
  SampleNetwork linear({4, 1, 1, 9});
  linear.linear(linear.graph().input, 5);
  expect_sums(linear, seeded_input(6, linear.graph()));
}

TEST(LayerInputs, PositionsAreSpreadOverThePicturesAndDrawnByTheSeed) {
  const ImageShape shape{10, 8, 4, 3};
  const auto positions = sample_positions(shape, 50, 7);
  ASSERT_EQ(positions.size(), 50U);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    EXPECT_EQ(positions[i].picture, static_cast<std::int64_t>(i / 5));
    EXPECT_TRUE(positions[i].y >= 0 && positions[i].y < 8);
    EXPECT_TRUE(positions[i].x >= 0 && positions[i].x < 4);
  }
  const auto places = [](const std::vector<OutputPosition>& list) {
    std::vector<std::int64_t> result;
    for (const OutputPosition& each : list) result.push_back(each.y * 4 + each.x);
    return result;
  };
  EXPECT_EQ(places(sample_positions(shape, 50, 7)), places(positions));
  EXPECT_NE(places(sample_positions(shape, 50, 8)), places(positions));
  EXPECT_EQ(std::ranges::max(places(positions)), 31);
}

}  // namespace
}  // namespace qsim::quantize
