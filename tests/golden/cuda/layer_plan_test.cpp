// Which layers run as one step, when they must not, and with which numbers. Needs no GPU.
#include "golden/graph/cuda/layer_plan.h"

#include <gtest/gtest.h>

#include "tests/golden/cuda/network_builder.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden::cuda {
namespace {

using golden_test::NetworkBuilder;
using golden_test::Numbers;
using golden_test::square;

class LayerPlanTest : public testing::Test {
 protected:
  NetworkBuilder network(const ImageShape& shape) {
    return NetworkBuilder(random_, golden_test::random_quantization(random_, shape));
  }

  // "conv0+relu1|pool2"
  static std::string partition(const Graph& graph, CudaKeep keep = CudaKeep::kStored) {
    std::string text;
    for (const Step& step : plan_layers(graph, keep)) {
      text += (text.empty() ? "" : "|") + layer_names(graph, step);
    }
    return text;
  }

  Random random_{5};
};

TEST_F(LayerPlanTest, KeepingEveryOfmapMakesEachLayerAStep) {
  const Graph graph = network({1, 4, 4, 3})
                          .conv2d(5, square(1))
                          .relu()
                          .max_pool(square(2, 2))
                          .flatten(Flatten::Order::kHwc)
                          .fully_connected(3)
                          .relu()
                          .build();
  EXPECT_EQ(partition(graph, CudaKeep::kEvery), "conv0|relu1|pool2|flatten3|fc4|relu5");
  for (const Step& step : plan_layers(graph, CudaKeep::kEvery)) {
    EXPECT_FALSE(step.pool);
    EXPECT_TRUE(step.own_weights.empty());
  }
}

TEST_F(LayerPlanTest, KeepingTheLastFusesAsKeepingTheStored) {
  Random random(3);
  const Graph graph = golden_test::random_chain(random);
  EXPECT_EQ(partition(graph, CudaKeep::kLast), partition(graph, CudaKeep::kStored));
}

TEST_F(LayerPlanTest, AReluJoinsTheConvolutionOrFullyConnectedLayerBeforeIt) {
  EXPECT_EQ(partition(network({1, 5, 5, 3}).conv2d(4, square(3)).relu().relu().build()),
            "conv0+relu1+relu2");
  EXPECT_EQ(partition(network({2, 1, 1, 9}).fully_connected(4).relu().build()), "fc0+relu1");
}

TEST_F(LayerPlanTest, AReluRaisesBothEndsOfTheClampToTheZeroPoint) {
  NetworkBuilder builder = network({1, 2, 2, 3});
  builder.conv2d(2, square(1)).relu();
  for (const Layer& layer : builder.graph().layers) {
    Value& output = builder.graph().tensors[layer.output];
    output.dtype = DType::kInt8;
    output.zero_point = 10;
  }
  auto& conv = std::get<Conv2d>(builder.graph().layers[0].operation);
  const auto clamp = [&](std::int32_t lo, std::int32_t hi) {
    conv.requantization.lo = lo;
    conv.requantization.hi = hi;
    const Graph graph = builder.build();
    const Step step = plan_layers(graph, CudaKeep::kLast).at(0);
    return std::pair(step.requantization.lo, step.requantization.hi);
  };
  EXPECT_EQ(clamp(-128, 127), std::pair(10, 127));
  EXPECT_EQ(clamp(20, 100), std::pair(20, 100));
  EXPECT_EQ(clamp(-100, -50), std::pair(10, 10));  // everything is the zero point
}

TEST_F(LayerPlanTest, TensorFlowLitesRoundingsAreRefused) {
  NetworkBuilder builder = network({1, 2, 2, 3});
  builder.conv2d(2, square(1));
  Requantization& rq = std::get<Conv2d>(builder.graph().layers[0].operation).requantization;
  rq.shifts.clear();
  rq.requantizers = {tflite_requantizer(0.1, RequantizerRounding::kTflite)};
  const Graph graph = builder.build();
  EXPECT_THROW(plan_layers(graph, CudaKeep::kLast), Error);
}

TEST_F(LayerPlanTest, APoolOfPairsJoinsTheConvolutionWithAReluOnEitherSide) {
  const Window pairs = square(2, 2);
  EXPECT_EQ(partition(network({1, 6, 4, 3}).conv2d(4, square(3, 1, 1)).max_pool(pairs).build()),
            "conv0+pool1");
  const Graph graph =
      network({1, 6, 4, 3}).conv2d(4, square(1)).relu().max_pool(pairs).relu().build();
  EXPECT_EQ(partition(graph), "conv0+relu1+pool2+relu3");
  const Step step = plan_layers(graph, CudaKeep::kStored).at(0);
  EXPECT_TRUE(step.pool);
  EXPECT_EQ(step.ofmap, graph.output_of(0));
  EXPECT_EQ(step.result, graph.output_of(3));
}

TEST_F(LayerPlanTest, ASecondPoolIsAStepOfItsOwn) {
  EXPECT_EQ(partition(network({1, 8, 8, 2})
                          .conv2d(4, square(1))
                          .max_pool(square(2, 2))
                          .max_pool(square(2, 2))
                          .relu()
                          .build()),
            "conv0+pool1|pool2|relu3");
}

TEST_F(LayerPlanTest, APoolOfAnyOtherShapeIsAStepOfItsOwn) {
  const Window others[] = {square(3, 2),
                           square(2, 1),
                           square(3, 3, 1),
                           {2, 2, 2, 1, 0, 0, 0, 0},
                           {2, 2, 2, 2, 1, 0, 1, 0},
                           {2, 2, 2, 2, 0, 1, 0, 1},
                           {2, 2, 2, 2, 0, 0, 1, 1},
                           {1, 2, 2, 2, 0, 0, 0, 0}};
  for (const Window& window : others) {
    EXPECT_EQ(partition(network({1, 6, 6, 2}).conv2d(3, square(1)).max_pool(window).build()),
              "conv0|pool1")
        << window.kernel_h << "x" << window.kernel_w;
  }
}

TEST_F(LayerPlanTest, APoolOfAnOddHeightOrWidthIsAStepOfItsOwn) {
  for (const bool ceil_mode : {false, true}) {
    for (const ImageShape& shape : {ImageShape{1, 5, 6, 2}, ImageShape{1, 6, 5, 2}}) {
      EXPECT_EQ(
          partition(network(shape).conv2d(3, square(1)).max_pool(square(2, 2), ceil_mode).build()),
          "conv0|pool1");
    }
  }
}

TEST_F(LayerPlanTest, WithoutAConvolutionBeforeThemDataLayersAreSteps) {
  EXPECT_EQ(partition(network({1, 4, 4, 2})
                          .relu()
                          .max_pool(square(2, 2))
                          .relu()
                          .flatten(Flatten::Order::kChw)
                          .relu()
                          .build()),
            "relu0|pool1|relu2|flatten3|relu4");
}

TEST_F(LayerPlanTest, AFlattenInChwOrderJoinsTheFullyConnectedLayerBehindIt) {
  const Graph graph = network({2, 2, 3, 4})
                          .conv2d(5, square(1))
                          .flatten(Flatten::Order::kChw)
                          .fully_connected(7)
                          .relu()
                          .build();
  EXPECT_EQ(partition(graph), "conv0|flatten1+fc2+relu3");
  const Step step = plan_layers(graph, CudaKeep::kStored).at(1);
  EXPECT_EQ(step.input, graph.output_of(1));
  ASSERT_EQ(step.own_weights.size(), 7u * 30u);
  const auto weights =
      std::get<FullyConnected>(graph.layers[2].operation).weights.as<std::int8_t>();
  // Channel 3 of the pixel at (1, 2) feeds output 6 through this weight.
  EXPECT_EQ(step.own_weights[6 * 30 + (1 * 3 + 2) * 5 + 3], weights[6 * 30 + 3 * 6 + 5]);
}

TEST_F(LayerPlanTest, AFlattenThatMovesNoByteJoinsTheStepBeforeIt) {
  EXPECT_EQ(partition(network({2, 2, 2, 3})
                          .conv2d(5, square(1))
                          .relu()
                          .flatten(Flatten::Order::kHwc)
                          .fully_connected(7)
                          .build()),
            "conv0+relu1+flatten2|fc3");
  EXPECT_EQ(partition(network({2, 3, 3, 3})
                          .max_pool(square(3))
                          .flatten(Flatten::Order::kChw)  // of 1x1 pictures
                          .build()),
            "pool0+flatten1");
  EXPECT_EQ(partition(network({2, 3, 3, 3})
                          .conv2d(1, square(1))
                          .flatten(Flatten::Order::kChw)  // of one channel
                          .build()),
            "conv0+flatten1");
}

TEST_F(LayerPlanTest, AFirstFlattenThatMovesNoByteJoinsTheFullyConnectedLayerWithItsOwnWeights) {
  const Graph graph =
      network({2, 2, 2, 3}).flatten(Flatten::Order::kHwc).fully_connected(7).build();
  EXPECT_EQ(partition(graph), "flatten0+fc1");
  const Step step = plan_layers(graph, CudaKeep::kStored).at(0);
  EXPECT_TRUE(step.own_weights.empty());
  EXPECT_EQ(weights_of(graph, step).data(),
            std::get<FullyConnected>(graph.layers[1].operation).weights.as<std::int8_t>().data());
}

TEST_F(LayerPlanTest, AFlattenWithoutAFullyConnectedLayerBehindItIsAStep) {
  EXPECT_EQ(partition(network({2, 2, 2, 3})
                          .conv2d(5, square(1))
                          .flatten(Flatten::Order::kChw)
                          .relu()
                          .fully_connected(4)
                          .build()),
            "conv0|flatten1|relu2|fc3");
}

TEST_F(LayerPlanTest, CountsMacsAndBytesOfAStepOnce) {
  const Graph graph =
      network({2, 4, 4, 3}).conv2d(5, square(3, 1, 1)).relu().max_pool(square(2, 2)).build();
  const Step step = plan_layers(graph, CudaKeep::kStored).at(0);
  EXPECT_EQ(step_macs(graph, step), 2 * 4 * 4 * 5 * 27);
  EXPECT_EQ(step_bytes(graph, step), 2 * 4 * 4 * 3 + 5 * 27 + 5 * 4 + 2 * 2 * 2 * 5);
}

// conv0 -> conv1 -> conv2, and conv0's ofmap to an addition with it.
class BranchPlanTest : public LayerPlanTest {
 protected:
  static constexpr Numbers kScaled = Numbers::kScaled;

  NetworkBuilder scaled_network(const ImageShape& shape) {
    return NetworkBuilder(random_, golden_test::random_quantization(random_, shape), kScaled);
  }
  NetworkBuilder residual() {
    NetworkBuilder builder = scaled_network({1, 4, 4, 3});
    const TensorId shortcut = builder.conv2d(5, square(1)).tensor();
    builder.conv2d(6, square(3, 1, 1)).conv2d(5, square(1)).add(shortcut);
    return builder;
  }
};

TEST_F(BranchPlanTest, AnAdditionJoinsTheConvolutionThatIsWrittenLast) {
  const Graph graph = residual().relu().build();
  EXPECT_EQ(partition(graph), "conv0|conv1|conv2+add3+relu4");
  const Step step = plan_layers(graph, CudaKeep::kLast).at(2);
  EXPECT_EQ(step.inputs, (std::vector<TensorId>{graph.layers[1].output, graph.layers[0].output}));
  ASSERT_TRUE(step.addition.has_value());
  EXPECT_FALSE(step.addition->other_is_first);
  EXPECT_EQ(step.addition->add.lo,
            std::max(graph.output_of(3).min(), graph.output_of(3).zero_point));
  EXPECT_EQ(partition(graph, CudaKeep::kEvery), "conv0|conv1|conv2|add3|relu4");
}

TEST_F(BranchPlanTest, AnAdditionOfTwoConvolutionsJoinsTheLaterOne) {
  for (const bool other_is_first : {false, true}) {
    NetworkBuilder builder = scaled_network({1, 4, 4, 3});
    const TensorId start = builder.tensor();
    const TensorId body = builder.conv2d(5, square(1)).tensor();
    builder.read(start).conv2d(5, square(3, 1, 1)).add(body, other_is_first);
    const Graph graph = builder.build();
    EXPECT_EQ(partition(graph), "conv0|conv1+add2");
    EXPECT_EQ(plan_layers(graph, CudaKeep::kLast).at(1).addition->other_is_first, other_is_first);
  }
}

TEST_F(BranchPlanTest, AStepRunsWhereItsLastLayerIs) {
  NetworkBuilder builder = scaled_network({1, 4, 4, 3});
  const TensorId start = builder.tensor();
  const TensorId body = builder.conv2d(3, square(1)).tensor();
  builder.read(start).max_pool(square(1)).add(body);
  EXPECT_EQ(partition(builder.build()), "pool1|conv0+add2");
}

TEST_F(BranchPlanTest, ATensorWithTwoReadersIsWritten) {
  NetworkBuilder builder = scaled_network({1, 4, 4, 3});
  const TensorId conv = builder.conv2d(5, square(1)).tensor();
  builder.relu();
  builder.add(conv);
  // The addition reads the ReLU, which reads the convolution, as the addition does.
  EXPECT_EQ(partition(builder.build()), "conv0|relu1|add2");
}

TEST_F(BranchPlanTest, AnAdditionOfATensorToItselfIsAStep) {
  NetworkBuilder builder = scaled_network({1, 4, 4, 3});
  const TensorId conv = builder.conv2d(5, square(1)).tensor();
  builder.add(conv).relu();
  EXPECT_EQ(partition(builder.build()), "conv0|add1+relu2");
}

TEST_F(BranchPlanTest, AnAdditionThatRoundsOnceIsAStep) {
  NetworkBuilder builder = residual();
  std::get<Add>(builder.graph().layers[3].operation).rounding = RequantizerRounding::kHalfEven;
  EXPECT_EQ(partition(builder.build()), "conv0|conv1|conv2|add3");
}

TEST_F(BranchPlanTest, APooledConvolutionDoesNotAdd) {
  NetworkBuilder builder = scaled_network({1, 4, 4, 3});
  const TensorId start = builder.tensor();
  const TensorId pooled = builder.max_pool(square(2, 2)).conv2d(5, square(1)).tensor();
  builder.read(start).conv2d(5, square(1)).max_pool(square(2, 2)).add(pooled);
  EXPECT_EQ(partition(builder.build()), "pool0|conv2+pool3|conv1+add4");
}

TEST_F(BranchPlanTest, StepsShareBuffersByLifetime) {
  const Graph graph = residual().conv2d(4, square(1)).conv2d(4, square(1)).build();
  const std::vector<Step> steps = plan_layers(graph, CudaKeep::kLast);
  ASSERT_EQ(steps.size(), 5u);  // conv0 | conv1 | conv2+add3 | conv4 | conv5
  const BufferPlan plan = plan_buffers(step_tensors(steps));
  EXPECT_EQ(plan.buffers, (std::vector<std::size_t>{0, 1, 2, 0, 1}));
}

TEST_F(BranchPlanTest, WideWeightsBecomeSumsOfBytes) {
  const auto parts_of = [&](const std::vector<std::int16_t>& weights) {
    NetworkBuilder builder = scaled_network({1, 4, 4, 3});
    builder.conv2d(2, square(1));
    auto& conv = std::get<Conv2d>(builder.graph().layers[0].operation);
    conv.weights = make_tensor<std::int16_t>({2, 1, 1, 3}, weights);
    const Graph graph = builder.build();
    const Step step = plan_layers(graph, CudaKeep::kLast).at(0);
    const auto parts = weights_of(graph, step);
    EXPECT_EQ(parts.size(), static_cast<std::size_t>(step.weight_parts) * 6);
    return std::vector<int>(parts.begin(), parts.end());
  };
  EXPECT_EQ(parts_of({254, -255, 7, -7, 0, 128}),
            (std::vector<int>{127, -128, 7, 127, -127, 0, -7, 0, 127, 0, 0, 1}));
  EXPECT_EQ(parts_of({255, 0, 0, 0, 0, -255}),
            (std::vector<int>{127, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, -128, 0, 0, -127, 0, 0, 0}));
}

TEST(CudaPath, EveryPathHasAName) {
  EXPECT_EQ(cuda_path_name(CudaPath::kAuto), "auto");
  EXPECT_EQ(cuda_path_name(CudaPath::kHopper), "hopper");
  EXPECT_EQ(cuda_path_name(CudaPath::kPortable), "portable");
  EXPECT_EQ(cuda_path_name(CudaPath::kDirect), "direct");
}

}  // namespace
}  // namespace qsim::golden::cuda
