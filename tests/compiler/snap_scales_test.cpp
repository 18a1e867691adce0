// snap_scales(): which power of two, what weights and bias become, and that tensors keep what they
// mean.
#include "compiler/snap_scales.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

constexpr RequantizerRounding kHalfEven = RequantizerRounding::kHalfEven;

Conv2d& conv_of(Graph& graph) { return std::get<Conv2d>(graph.layers[0].operation); }

// A 1x1 convolution of one channel with these weights, a bias and a scale.
Graph convolution(const std::vector<int>& weights, std::int32_t bias, float scale) {
  Graph graph = GraphBuilder(1, picture(1, 2, 2, std::ssize(weights))).conv(1, window(1)).build();
  Conv2d& conv = conv_of(graph);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    conv.weights.as<std::int8_t>()[i] = static_cast<std::int8_t>(weights[i]);
  }
  conv.bias.as<std::int32_t>()[0] = bias;
  conv.requantization.shifts.clear();
  conv.requantization.requantizers = {
      requantizer_of(*Scale::of(scale), RequantizerRounding::kFloat32)};
  return graph;
}

std::vector<int> weights_of(Graph& graph) {
  const auto weights = conv_of(graph).weights.as<std::int8_t>();
  return {weights.begin(), weights.end()};
}

TEST(SnapScales, TakesThePowerOfTwoWhoseWeightsLoseLess) {
  // 0.375 = 1.5 / 4 = 0.75 / 2. By 1.5 the weights stay whole; by 0.75 they lose fractions.
  Snapped up = snap_scales(convolution({80, -40, 2, 6}, 1001, 0.375F), kHalfEven);
  EXPECT_EQ(conv_of(up.graph).requantization.requantizers,
            std::vector<Requantizer>{requantizer_of_shift(2, kHalfEven)});
  EXPECT_EQ(weights_of(up.graph), (std::vector<int>{120, -60, 3, 9}));
  EXPECT_EQ(conv_of(up.graph).bias.as<std::int32_t>()[0], 1502);  // 1501.5, away from zero
  EXPECT_EQ(up.channels, 1);
  EXPECT_EQ(up.layers, 1);
  // 120 * 1.5 leaves int8, so 1/2 is taken although 1/4 is nearer in the log domain.
  Snapped down = snap_scales(convolution({120, -40, 4, 8}, -1001, 0.3515625F), kHalfEven);
  EXPECT_EQ(conv_of(down.graph).requantization.requantizers,
            std::vector<Requantizer>{requantizer_of_shift(1, kHalfEven)});
  EXPECT_EQ(weights_of(down.graph), (std::vector<int>{84, -28, 3, 6}));
  EXPECT_EQ(conv_of(down.graph).bias.as<std::int32_t>()[0], -704);  // -703.8
}

TEST(SnapScales, LeavesPowersOfTwoTensorsAndOtherLayersAsTheyAre) {
  Graph graph = convolution({-128, 127, 0, 1}, 77, 0x1p-9F);
  graph.input_value().scale = Scale::of(0.3F);
  append(graph, "sum", Add{}, {0, 0}, graph.input_value());
  Snapped snapped = snap_scales(graph, RequantizerRounding::kFloor);
  EXPECT_EQ(snapped.channels, 0);
  EXPECT_EQ(snapped.layers, 0);
  EXPECT_EQ(weights_of(snapped.graph), (std::vector<int>{-128, 127, 0, 1}));
  EXPECT_EQ(conv_of(snapped.graph).bias.as<std::int32_t>()[0], 77);
  EXPECT_EQ(conv_of(snapped.graph).requantization.requantizers,
            std::vector<Requantizer>{requantizer_of_shift(9, RequantizerRounding::kFloor)});
  EXPECT_EQ(snapped.graph.tensors, graph.tensors);
  EXPECT_EQ(std::get<Add>(snapped.graph.layers[1].operation).rounding,
            RequantizerRounding::kFloat32);
}

TEST(SnapScales, StaysWithinTheShiftsThatThereAre) {
  Snapped large = snap_scales(convolution({50, -1, 0, 3}, 1000, 3.0F), kHalfEven);
  EXPECT_EQ(conv_of(large.graph).requantization.requantizers,
            std::vector<Requantizer>{requantizer_of_shift(0, kHalfEven)});
  EXPECT_EQ(weights_of(large.graph), (std::vector<int>{127, -3, 0, 9}));
  Snapped small = snap_scales(convolution({50, -1, 0, 3}, 2'000'000'000, 0x3p-33F), kHalfEven);
  EXPECT_EQ(conv_of(small.graph).requantization.requantizers,
            std::vector<Requantizer>{requantizer_of_shift(kMaxShift, kHalfEven)});
  EXPECT_EQ(conv_of(small.graph).bias.as<std::int32_t>()[0], 1'500'000'000);
}

TEST(SnapScales, GivesEachChannelItsOwnShiftAndWeightsOfNineBitsTheirRange) {
  GraphBuilder builder(1, picture(1, 2, 2, 2));
  builder.conv(2, window(1));
  Graph graph = builder.build();
  Conv2d& conv = conv_of(graph);
  conv.weights = Tensor(DType::kInt16, {2, 1, 1, 2});
  const auto weights = conv.weights.as<std::int16_t>();
  std::ranges::copy(std::vector<std::int16_t>{160, -20, 255, 3}, weights.begin());
  conv.requantization.shifts.clear();
  conv.requantization.requantizers = {
      requantizer_of(*Scale::of(0.375F), RequantizerRounding::kFloat32),
      requantizer_of(*Scale::of(0.046875F), RequantizerRounding::kFloat32)};
  Snapped snapped = snap_scales(graph, kHalfEven);
  const Conv2d& made = conv_of(snapped.graph);
  EXPECT_EQ(made.requantization.requantizers,
            (std::vector<Requantizer>{requantizer_of_shift(1, kHalfEven),
                                      requantizer_of_shift(4, kHalfEven)}));
  const auto found = made.weights.as<std::int16_t>();
  EXPECT_EQ(std::vector<int>(found.begin(), found.end()), (std::vector<int>{120, -15, 191, 2}));
}

TEST(SnapScales, MakesAGraphThatAMachineWithShiftsCompiles) {
  const Graph graph = convolution({80, -40, 2, 6}, 1001, 0.3F);
  const ArchConfig arch = testing::small_arch(4, 4);
  EXPECT_EQ(refusals_of(graph, arch).size(), 1u);
  EXPECT_NO_THROW(compile(snap_scales(graph, kHalfEven).graph, arch));
}

}  // namespace
}  // namespace qsim
