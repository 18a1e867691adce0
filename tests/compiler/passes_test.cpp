// The compiler's passes: what is fused, what is folded into the bias, what is refused.
#include "compiler/passes/passes.h"

#include <gtest/gtest.h>

#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

std::string refusal(const std::function<void()>& action, ExitCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(FuseLayers, ReluAndPoolRunInTheEpilogueOfTheirConvolution) {
  const Graph graph = GraphBuilder(1, picture(1, 8, 8, 3))
                          .conv(5, window(3, 1, 1))
                          .relu()
                          .max_pool(window(2, 2))
                          .conv(4, window(1))
                          .build();
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].operation, "conv2d+relu+max_pool");
  EXPECT_EQ(layers[0].name, "conv0");
  EXPECT_EQ(layers[0].graph_layer, 2);
  EXPECT_EQ(layers[0].lo, layers[0].zero_point);
  EXPECT_EQ(layers[0].pool, window(2, 2));
  EXPECT_EQ(layers[0].conv_height, 8);
  EXPECT_EQ(layers[0].output.shape.height, 4);
  EXPECT_EQ(layers[1].lo, -128);
}

TEST(FuseLayers, ReluBehindThePoolIsFusedAsWell) {
  const Graph graph =
      GraphBuilder(1, picture(1, 8, 8, 3)).conv(5, window(3)).max_pool(window(2, 2)).relu().build();
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].lo, layers[0].zero_point);
}

TEST(FuseLayers, ASecondPoolStandsAlone) {
  const Graph graph = GraphBuilder(1, picture(1, 16, 16, 3))
                          .conv(5, window(3))
                          .max_pool(window(2, 2))
                          .max_pool(window(3, 1))
                          .build();
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[1].kind, FusedLayer::Kind::kIdentity);
  EXPECT_EQ(layers[1].macs, 0);
  EXPECT_EQ(layers[1].name, "pool2");
}

TEST(FuseLayers, PsumsThatNoPoolingWindowReadsAreNotUseful) {
  // 9x9 psums; 2x2 windows at stride 4 read rows and columns 0, 1, 4, 5.
  const Graph sparse =
      GraphBuilder(1, picture(1, 9, 9, 3)).conv(5, window(1)).max_pool(window(2, 4)).build();
  EXPECT_EQ(fuse_layers(sparse)[0].macs, 4 * 4 * 3 * 5);
  // 3x3 windows at stride 2 with a pad read 0..1, 1..3, ...: everything, overlaps counted once.
  const Graph overlapping =
      GraphBuilder(1, picture(1, 9, 9, 3)).conv(5, window(1)).max_pool(window(3, 2, 1)).build();
  EXPECT_EQ(fuse_layers(overlapping)[0].macs, 9 * 9 * 3 * 5);
}

TEST(FuseLayers, AFlattenHandsItsPictureToTheFullyConnectedLayer) {
  const Graph graph = GraphBuilder(1, picture(2, 4, 4, 3))
                          .conv(5, window(3))
                          .flatten(Flatten::Order::kChw)
                          .fully_connected(7)
                          .build();
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[1].kind, FusedLayer::Kind::kFullyConnected);
  EXPECT_EQ(layers[1].input.shape, (ImageShape{2, 2, 2, 5}));
  EXPECT_EQ(layers[1].flatten, Flatten::Order::kChw);
  EXPECT_EQ(layers[1].depth, 20);
}

TEST(FuseLayers, WindowsBeyondTheAcceleratorAreRefusedByName) {
  const auto fuse = [](const Graph& graph) { return [graph] { fuse_layers(graph); }; };
  const Graph kernel = GraphBuilder(1, picture(1, 20, 20, 3)).conv(5, window(16)).build();
  EXPECT_EQ(refusal(fuse(kernel), ExitCode::kUnsupportedModel),
            "layer 'conv0': kernel height is 16; the accelerator supports up to 15");
  const Graph stride = GraphBuilder(1, picture(1, 20, 20, 3)).conv(5, window(3, 8)).build();
  EXPECT_EQ(refusal(fuse(stride), ExitCode::kUnsupportedModel),
            "layer 'conv0': vertical stride is 8; the accelerator supports up to 7");
  const Graph pool = GraphBuilder(1, picture(1, 20, 20, 3)).max_pool(window(5, 1)).build();
  EXPECT_EQ(refusal(fuse(pool), ExitCode::kUnsupportedModel),
            "layer 'pool0': pooling kernel height is 5; the accelerator supports up to 4");
}

TEST(FuseLayers, EachSideOfAWindowHasItsOwnLimit) {
  const auto refused = [](const Window& conv, const Window& pool) {
    const Graph graph = GraphBuilder(1, picture(1, 20, 20, 3)).conv(5, conv).max_pool(pool).build();
    return refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
  };
  EXPECT_EQ(refused({1, 16}, {}),
            "layer 'conv0': kernel width is 16; the accelerator supports up to 15");
  EXPECT_EQ(refused({1, 1, 1, 8}, {}),
            "layer 'conv0': horizontal stride is 8; the accelerator supports up to 7");
  for (const Window& pads : {Window{1, 1, 1, 1, 16, 0, 0, 0}, Window{1, 1, 1, 1, 0, 16, 0, 0},
                             Window{1, 1, 1, 1, 0, 0, 16, 0}, Window{1, 1, 1, 1, 0, 0, 0, 16}}) {
    EXPECT_EQ(refused(pads, {}), "layer 'conv0': padding is 16; the accelerator supports up to 15");
  }
  EXPECT_EQ(refused({}, {1, 5}),
            "layer 'pool1': pooling kernel width is 5; the accelerator supports up to 4");
  EXPECT_EQ(refused({}, {1, 1, 5, 1}),
            "layer 'pool1': vertical pooling stride is 5; the accelerator supports up to 4");
  EXPECT_EQ(refused({}, {1, 1, 1, 5}),
            "layer 'pool1': horizontal pooling stride is 5; the accelerator supports up to 4");
  const Graph largest = GraphBuilder(1, picture(1, 40, 40, 3))
                            .conv(5, {15, 15, 7, 7, 15, 15, 15, 15})
                            .max_pool({4, 4, 4, 4})
                            .build();
  EXPECT_NO_THROW(fuse_layers(largest));
}

TEST(FuseLayers, UsefulPsumsAreCountedAlongEachAxisWithItsOwnPads) {
  // 9 rows: windows of 2 at -1, 3, 7 read 0, 3, 4, 7, 8; 9 columns: at 0, 4 read 0, 1, 4, 5.
  const Graph graph = GraphBuilder(1, picture(1, 9, 9, 3))
                          .conv(5, window(1))
                          .max_pool({2, 2, 4, 4, 1, 0, 0, 0})
                          .build();
  EXPECT_EQ(fuse_layers(graph)[0].macs, 5 * 4 * 3 * 5);
}

TEST(FuseLayers, AReluAboveTheUpperClampLeavesOnlyTheZeroPoint) {
  GraphBuilder builder(1, picture(1, 4, 4, 3));
  builder.conv(5, window(1));
  builder.last_layer().output.zero_point = 30;
  std::get<Conv2d>(builder.last_layer().operation).requantization.hi = 20;
  const Graph graph = builder.relu().build();
  const FusedLayer layer = fuse_layers(graph)[0];
  EXPECT_EQ(layer.lo, 30);
  EXPECT_EQ(layer.hi, 30);
}

TEST(FuseLayers, AnIdentityKeepsThePicturesHeightAndWidth) {
  const Graph graph = GraphBuilder(1, picture(1, 6, 11, 20)).max_pool({3, 2, 1, 2}).build();
  const FusedLayer layer = fuse_layers(graph)[0];
  EXPECT_EQ(layer.conv_height, 6);
  EXPECT_EQ(layer.conv_width, 11);
  EXPECT_EQ(layer.depth, 20);
  EXPECT_EQ(layer.output.shape, (ImageShape{1, 4, 5, 20}));
}

TEST(FuseLayers, AFlattenOfASingleRowHasAnOrderToo) {
  const Graph graph =
      GraphBuilder(1, picture(1, 1, 5, 3)).flatten(Flatten::Order::kChw).fully_connected(7).build();
  const FusedLayer layer = fuse_layers(graph)[0];
  EXPECT_EQ(layer.flatten, Flatten::Order::kChw);
  EXPECT_EQ(layer.input.shape, (ImageShape{1, 1, 5, 3}));
}

TEST(FuseLayers, RoundingModesThatOnlyGoldenHasAreRefused) {
  GraphBuilder builder(1, picture(1, 4, 4, 3));
  builder.conv(5, window(3));
  std::get<Conv2d>(builder.last_layer().operation).requantization.rounding =
      RoundingMode::kHalfAway;
  const Graph graph = builder.build();
  EXPECT_NE(refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel).find("half_away"),
            std::string::npos);
}

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
  graph.input.dtype = DType::kUint8;
  graph.input.zero_point = 3;
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

TEST(FoldFirstLayerTaps, ThreeChannelsBecomeTwentySevenTaps) {
  const Graph graph = GraphBuilder(1, picture(1, 8, 8, 3)).conv(5, window(3, 1, 1)).build();
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, ArchConfig{});
  ASSERT_TRUE(layers[0].taps.has_value());
  EXPECT_EQ(layers[0].depth, 27);
  EXPECT_EQ(layers[0].window, Window{});
  EXPECT_EQ(layers[0].input.shape, (ImageShape{1, 8, 8, 27}));
  EXPECT_EQ(layers[0].taps->picture, (ImageShape{1, 8, 8, 3}));
}

TEST(FoldFirstLayerTaps, FullPlanesStayAsTheyAre) {
  const Graph graph = GraphBuilder(1, picture(1, 8, 8, 16)).conv(5, window(3, 1, 1)).build();
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, ArchConfig{});
  EXPECT_FALSE(layers[0].taps.has_value());
}

bool takes_taps(const Graph& graph, const ArchConfig& arch) {
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, arch);
  return layers[0].taps.has_value();
}

// Cycles a pixel: max(folds * column blocks, bytes / min(bus, R)), plain against packed.
TEST(FoldFirstLayerTaps, BytesThatAStrideSkipsCount) {
  // 1 fold; 16 bytes of each of 4 pixels against 16 bytes: 4 against 1.
  const Graph strided = GraphBuilder(1, picture(1, 8, 8, 16)).conv(5, window(1, 2)).build();
  EXPECT_TRUE(takes_taps(strided, ArchConfig{}));
  const Graph dense = GraphBuilder(1, picture(1, 8, 8, 16)).conv(5, window(1)).build();
  EXPECT_FALSE(takes_taps(dense, ArchConfig{}));
}

TEST(FoldFirstLayerTaps, ABeatIsAtMostAWordOfTheScratchpad) {
  ArchConfig arch;
  arch.array_rows = 4;
  arch.array_cols = 16;
  // 2 folds against 1, but a pixel's block of 16 bytes takes 4 beats of 4 either way.
  const Graph graph = GraphBuilder(1, picture(1, 8, 8, 1)).conv(16, {1, 2}).build();
  EXPECT_FALSE(takes_taps(graph, arch));
}

TEST(FoldFirstLayerTaps, EveryColumnBlockTakesTheFoldsAgain) {
  ArchConfig arch;
  arch.bus_bytes = 4;
  // A block of 16 bytes takes 4 beats; 2 folds or 1 for one column block, 8 or 4 for four.
  const Graph narrow = GraphBuilder(1, picture(1, 8, 8, 3)).conv(16, {1, 2}).build();
  EXPECT_FALSE(takes_taps(narrow, arch));
  const Graph wide = GraphBuilder(1, picture(1, 8, 8, 3)).conv(64, {1, 2}).build();
  EXPECT_TRUE(takes_taps(wide, arch));
}

TEST(FoldFirstLayerTaps, AKernelThatIsNotSquareKeepsItsTapsInOrder) {
  const Graph graph = GraphBuilder(1, picture(1, 8, 9, 3)).conv(5, {2, 4}).build();
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, ArchConfig{});
  ASSERT_TRUE(layers[0].taps.has_value());
  EXPECT_EQ(layers[0].depth, 24);
  EXPECT_EQ(layers[0].input.shape, (ImageShape{1, 7, 6, 24}));
  EXPECT_EQ(layers[0].taps->window.kernel_w, 4);
}

}  // namespace
}  // namespace qsim
