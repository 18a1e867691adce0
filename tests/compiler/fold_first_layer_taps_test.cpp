// The pass that lays the taps of the first layer's window side by side as channels.
#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

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
