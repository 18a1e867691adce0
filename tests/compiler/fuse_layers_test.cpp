// The pass that fuses layers: what runs as one, its useful work, what is refused.
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
  const Graph kernel = GraphBuilder(1, picture(1, 70, 70, 3)).conv(5, window(64)).build();
  EXPECT_EQ(refusal(fuse(kernel), ExitCode::kUnsupportedModel),
            "layer 'conv0': height of window and padding is 64; the accelerator supports up to 63");
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
  EXPECT_EQ(refused({1, 17, 1, 1, 0, 47}, {}),
            "layer 'conv0': width of window and padding is 64; the accelerator supports up to 63");
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
  builder.last_output().zero_point = 30;
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

// Levels -128 to 127 of the scale 1, -1 halved to even: 0; -3: -2.
TEST(FuseLayers, APReluOfEqualSlopesIsATable) {
  Value value = picture(1, 3, 3, 3);
  value.scale = Scale::power_of_two(0);
  Graph graph = GraphBuilder(1, value).build();
  append(graph, "prelu", PRelu{make_tensor<float>({3}, std::vector<float>(3, 0.5F))}, value);
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].tables, (std::vector<std::string>{"prelu' (prelu)"}));
  ASSERT_TRUE(layers[0].table.has_value());
  EXPECT_EQ((*layers[0].table)[5], 5);
  EXPECT_EQ((*layers[0].table)[0xFF], 0);
  EXPECT_EQ((*layers[0].table)[0xFD], -2);
  EXPECT_EQ((*layers[0].table)[0x80], -64);
}

}  // namespace
}  // namespace qsim
