// Layers with integer weights: weight-only, dynamic and powers of two. Every path equals the plain
// loops, and the plain loops equal definitions of the test's own.
#include <cmath>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "tests/golden/real/random_layer_weights.h"
#include "tests/golden/real/random_real_graph.h"

namespace qsim::golden {
namespace {

void expect_paths_agree(const Graph& graph, const Tensor& input,
                        const std::map<std::size_t, RealLayerWeights>& layer_weights) {
  ThreadTeam one(1);
  ThreadTeam three(3);
  const RealExecutor plain(graph, {.plain = true, .layer_weights = layer_weights});
  const Tensor expected = plain.run(input, one);
  for (const VectorPath path : kVectorPaths) {
    if (!is_available(path)) continue;
    const RealExecutor fast(graph, {.vector_path = path, .layer_weights = layer_weights});
    ASSERT_EQ(fast.run(input, one), expected) << graph.name << " " << vector_path_name(path);
    ASSERT_EQ(fast.run(input, three), expected) << graph.name << " " << vector_path_name(path);
  }
}

TEST(IntegerLayers, EveryPathEqualsThePlainLoopsOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Graph graph = random_real_graph(seed);
    for (const WeightMode mode :
         {WeightMode::kWeightOnly, WeightMode::kDynamic, WeightMode::kStatic}) {
      for (const bool log2 : {false, true}) {
        Random random(seed);
        Shape shape = graph.input_shape().nhwc();
        shape[0] = 3;
        const Tensor input = random_floats(random, shape);
        expect_paths_agree(graph, input, random_layer_weights(random, graph, mode, log2));
      }
    }
  }
}

Graph linear_graph(std::int64_t batch, std::int64_t depth, std::int64_t outputs) {
  Random random(4);
  FullyConnected linear;
  linear.weights = random_floats(random, {outputs, depth});
  linear.bias = random_floats(random, {outputs});
  return single_layer({batch, 1, 1, depth}, linear, {batch, 1, 1, outputs});
}

// The largest sums of a chunk: 256 products of 255 * 255, or of 255 * 2^s beside such of 255 * 1,
// around the ends of bands; and many chunks.
TEST(IntegerLayers, TheLargestSumsAreExactOnEveryPath) {
  constexpr std::int64_t kDepth = 1300;
  const Graph graph = linear_graph(2, kDepth, 20);
  Random random(8);
  Tensor input(DType::kFloat32, {2, 1, 1, kDepth});
  for (float& value : input.as<float>()) value = random.chance(0.98) ? 255.0F : 254.0F;
  IntegerWeights integers{Tensor(DType::kInt16, {20, kDepth}), {0.5F}, {}};
  for (std::int16_t& level : integers.levels.as<std::int16_t>()) {
    level = random.chance(0.99) ? 255 : 254;
  }
  expect_paths_agree(graph, input, {{0, {integers, UniformRule{1, 0, 0, 255}}}});
  for (const int shift : {8, 9, 11, 18, 30}) {
    Log2Weights powers{
        Tensor(DType::kInt8, {20, kDepth}), Tensor(DType::kInt8, {20, kDepth}), {0.5F}, -3, 27};
    for (std::size_t i = 0; i < 20 * kDepth; ++i) {
      powers.signs.as<std::int8_t>()[i] = 1;
      powers.exponents.as<std::int8_t>()[i] =
          static_cast<std::int8_t>(-3 + (random.chance(0.9) ? shift : 0));
    }
    expect_paths_agree(graph, input, {{0, {powers, UniformRule{1, 0, 0, 255}}}});
  }
}

// 256 taps are a chunk and have a path of their own; 600 are three chunks, whose sums do not fit
// float32.
TEST(IntegerLayers, DepthwiseKernelsOfOneChunkAndOfThreeAgree) {
  constexpr std::int64_t kChannels = 37;
  const ImageShape shape = {2, 18, 600, kChannels};
  for (const auto& [kernel_h, kernel_w] : {std::pair{16, 16}, {1, 600}}) {
    Conv2d conv;
    conv.window = {.kernel_h = kernel_h, .kernel_w = kernel_w, .stride_w = 100, .pad_top = 2};
    conv.groups = kChannels;
    conv.weights = Tensor(DType::kFloat32, {kChannels, kernel_h, kernel_w, 1});
    conv.bias = Tensor(DType::kFloat32, {kChannels});
    const Graph graph =
        single_layer(shape, conv, {2, 20 - kernel_h + 1, (600 - kernel_w) / 100 + 1, kChannels});
    Random random(5);
    const Tensor input = random_floats(random, shape.nhwc());
    for (const WeightMode mode :
         {WeightMode::kWeightOnly, WeightMode::kDynamic, WeightMode::kStatic}) {
      for (const bool log2 : {false, true}) {
        expect_paths_agree(graph, input, random_layer_weights(random, graph, mode, log2));
      }
    }
    // 255 * 255 at each tap: the largest sums.
    Tensor bright(DType::kFloat32, shape.nhwc());
    for (float& value : bright.as<float>()) value = random.chance(0.9) ? 255.0F : 254.0F;
    IntegerWeights most{Tensor(DType::kInt16, conv.weights.shape), {0.5F}, {}};
    for (std::int16_t& level : most.levels.as<std::int16_t>()) level = 255;
    expect_paths_agree(graph, bright, {{0, {most, UniformRule{1, 0, 0, 255}}}});
  }
}

float output_of(const Graph& graph, const Tensor& input, const RealLayerWeights& weights,
                bool plain) {
  ThreadTeam team;
  const RealExecutor executor(graph, {.plain = plain, .layer_weights = {{0, weights}}});
  return executor.run(input, team).as<float>()[0];
}

Graph two_inputs(float bias) {
  FullyConnected linear;
  linear.weights = make_tensor<float>({1, 2}, std::vector<float>{1, 1});
  linear.bias = make_tensor<float>({1}, std::vector<float>{bias});
  return single_layer({1, 1, 1, 2}, linear, {1, 1, 1, 1});
}

TEST(IntegerLayers, WeightOnlyScalesTheSumThenAddsTheBias) {
  const Graph graph = two_inputs(10);
  const Tensor x = make_tensor<float>({1, 1, 1, 2}, std::vector<float>{1.5F, -2});
  const Tensor levels = make_tensor<std::int8_t>({1, 2}, std::vector<std::int8_t>{100, -28});
  for (const bool plain : {true, false}) {
    // (1.5 * 98 - 2 * -30) / 4 + 10
    EXPECT_EQ(output_of(graph, x, {IntegerWeights{levels, {0.25F}, {2}}}, plain), 61.75F);
  }
}

TEST(IntegerLayers, DynamicSumsLevelsWithoutTheirZeroPoints) {
  const Graph graph = two_inputs(1);
  // The range -1..254: scale 1, zero_point 1; levels 255 and 0 are 254 and -1.
  const Tensor x = make_tensor<float>({1, 1, 1, 2}, std::vector<float>{254, -1});
  const Tensor levels = make_tensor<std::int8_t>({1, 2}, std::vector<std::int8_t>{3, 100});
  for (const bool plain : {true, false}) {
    EXPECT_EQ(output_of(graph, x, {IntegerWeights{levels, {0.5F}, {}}, DynamicRule{}}, plain),
              (254 * 3 - 100) / 2 + 1);
  }
}

TEST(IntegerLayers, PowersOfTwoShiftTheLevels) {
  const Graph graph = two_inputs(0);
  const Tensor x = make_tensor<float>({1, 1, 1, 2}, std::vector<float>{2.5F, -1.5F});
  const Log2Weights powers{make_tensor<std::int8_t>({1, 2}, std::vector<std::int8_t>{1, -1}),
                           make_tensor<std::int8_t>({1, 2}, std::vector<std::int8_t>{-2, 3}),
                           {0.5F},
                           -2,
                           3};
  for (const bool plain : {true, false}) {
    // Levels 5 and -3 of scale 1/2: (5 * 2^0 + 3 * 2^5) * (1/2 * (1/2 * 2^-2))
    EXPECT_EQ(output_of(graph, x, {powers, UniformRule{0.5F, 0, -128, 127}}, plain), 101.0F / 16);
    EXPECT_EQ(output_of(graph, x, {powers}, plain), (2.5F / 4 + 1.5F * 8) / 2);
  }
}

TEST(IntegerLayers, IntegersThatArePowersOfTwoBecomeLog2Weights) {
  const Tensor levels =
      make_tensor<std::int16_t>({2, 3}, std::vector<std::int16_t>{1, -2, 0, 64, -16384, -1});
  const Log2Weights powers = log2_weights(levels, {0.5F});
  EXPECT_EQ(powers.lo, 0);
  EXPECT_EQ(powers.hi, 14);
  EXPECT_EQ(powers.signs,
            make_tensor<std::int8_t>({2, 3}, std::vector<std::int8_t>{1, -1, 0, 1, -1, -1}));
  EXPECT_EQ(powers.exponents,
            make_tensor<std::int8_t>({2, 3}, std::vector<std::int8_t>{0, 1, 0, 6, 14, 0}));
  EXPECT_THROW(log2_weights(make_tensor<std::int8_t>({1}, std::vector<std::int8_t>{3}), {1}),
               Error);
}

TEST(IntegerLayers, WeightsThatDoNotFitTheLayerAreRefused) {
  const Graph graph = two_inputs(0);
  const Tensor levels(DType::kInt8, {1, 2});
  const Tensor wide = make_tensor<std::int16_t>({1, 2}, std::vector<std::int16_t>{0, 256});
  const Tensor ones = make_tensor<std::int8_t>({1, 2}, std::vector<std::int8_t>{1, 1});
  const Tensor twos = make_tensor<std::int8_t>({1, 2}, std::vector<std::int8_t>{2, 2});
  const std::vector<RealLayerWeights> wrong = {
      {IntegerWeights{Tensor(DType::kInt8, {2, 1}), {1}}},
      {IntegerWeights{Tensor(DType::kFloat32, {1, 2}), {1}}},
      {IntegerWeights{levels, {}}},
      {IntegerWeights{levels, {1, 1}}},
      {IntegerWeights{levels, {0}}},
      {IntegerWeights{levels, {1}, {0, 0}}},
      {IntegerWeights{levels, {1}, {256}}},
      {IntegerWeights{wide, {1}}},
      {IntegerWeights{levels, {1}}, UniformRule{1, 0, 0, 256}},
      {IntegerWeights{levels, {1}}, DynamicRule{9}},
      {Log2Weights{twos, levels, {1}, 0, 1}},
      {Log2Weights{ones, levels, {1}, 1, 2}},
      {Log2Weights{ones, levels, {1}, -31, 0}},
      {Log2Weights{ones, levels, {-1}, -7, 0}}};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_THROW(RealExecutor(graph, {.layer_weights = {{0, wrong[i]}}}), Error) << i;
  }
  EXPECT_NO_THROW(RealExecutor(graph, {.layer_weights = {{0, {IntegerWeights{levels, {1}}}}}}));
  const ImageShape shape = {1, 1, 1, 2};
  const Graph other = single_layer(shape, Activation{}, shape);
  EXPECT_THROW(RealExecutor(other, {.layer_weights = {{0, {IntegerWeights{levels, {1}}}}}}), Error);
}

}  // namespace
}  // namespace qsim::golden
