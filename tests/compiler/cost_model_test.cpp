// The cost model's estimates, term by term: each case is worked out on paper from the sizes of one
// tiling. tests/sim/systemc/estimate_test.cpp compares the estimates with the engine's cycles.
#include "compiler/lowering/cost_model.h"

#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

// Of the first layer of `graph`. The default architecture is pe16x16: R = C = B = 16, 16 bytes a
// beat, latency 100, bursts of 64 beats, 16 outstanding. `transfer(n beats)` below is n, but at
// least (100 + n) / 16 for a short run, and every group loads 80 bytes of parameters: 5 beats,
// so 7.
std::int64_t estimate(const Graph& graph, const Tiling& tiling, const ArchConfig& arch = {}) {
  const std::vector<FusedLayer> layers = fuse_layers(graph);
  return estimate_cycles(layer_geometry(layers[0], arch), tiling, arch);
}

TEST(CostModel, ResidentActivationsAreLoadedOnceForAllColumnBlocks) {
  const Graph graph = GraphBuilder(1, picture(1, 32, 32, 16)).conv(32, window(3, 1, 1)).build();
  // A tile: 2 blocks of 9 folds x 256 pixels = 4608; weights 2 x (144 + 7), 10 rows of 32 pixels
  // 320: 622 load. Ends: 622 + POST 256 + STORE 256 + 2 x 100 + 2 x 16 + 16.
  EXPECT_EQ(estimate(graph, {.out_rows = 8, .out_cols = 32, .act_planes = 1, .act_kernel_rows = 3}),
            4 * 4608 + (622 + 256 + 256 + 248) + 4 * 622 / 32);
}

TEST(CostModel, PoolingTakesPostABeatForEveryPositionAndTheLastRowsOfTilesTheirShare) {
  const Graph graph = GraphBuilder(1, picture(1, 20, 20, 16))
                          .conv(16, window(3, 1, 1))
                          .max_pool(window(2, 2))
                          .build();
  // Tiles of 4, 4, 2 rows of 10: 9 folds x 160 or 80 psums; 10 or 6 rows of 20 pixels, 151 for
  // weights and parameters. Ends: 351 + POST 4 x 10 x 4 + STORE 40 + 248.
  EXPECT_EQ(estimate(graph, {.out_rows = 4, .out_cols = 10, .act_planes = 1, .act_kernel_rows = 3}),
            (2 * 1440 + 720) + (351 + 160 + 40 + 248) + (2 * 351 + 271) / 32);
}

TEST(CostModel, TilesCutInBothDirectionsHaveACornerOfTheirOwn) {
  const Graph graph = GraphBuilder(1, picture(1, 20, 20, 16)).conv(16, window(3, 1, 1)).build();
  // 2 x 2 tiles of 12 or 8: 9 folds x 144, 96, 96, 64; rows of 14 or 10 pixels, not contiguous:
  // 14 x 14 + 151, 10 x 14 + 151, 14 x 10 + 151, 10 x 10 + 151.
  EXPECT_EQ(
      estimate(graph, {.out_rows = 12, .out_cols = 12, .act_planes = 1, .act_kernel_rows = 3}),
      9 * (144 + 96 + 96 + 64) + (347 + 144 + 144 + 248) + (347 + 291 + 291 + 251) / 32);
}

TEST(CostModel, AShortGroupWaitsForTheRoundTripOfItsMemoryHalves) {
  const Graph graph = GraphBuilder(1, picture(1, 32, 32, 16)).conv(16, window(1)).build();
  // 1 fold x 256 pixels; but an output half is free again after POST 262, STORE 256, response 100,
  // and there are two: 309.
  EXPECT_EQ(estimate(graph, {.out_rows = 8, .out_cols = 32}),
            4 * 309 + (279 + 256 + 256 + 248) + 4 * 279 / 32);
}

TEST(CostModel, FewPixelsTakeAsLongAsTheWeightsOfTheNextFold) {
  const Graph graph = GraphBuilder(1, picture(1, 4, 1, 256)).conv(16, window(1)).build();
  // 16 folds x max(4, 16) = 256. Weights 256 beats, 7, and 16 planes of 4 pixels, each at least 7.
  EXPECT_EQ(estimate(graph, {.out_rows = 4, .out_cols = 1, .act_planes = 16}),
            375 + (375 + 4 + 7 + 248) + 375 / 32);
}

TEST(CostModel, VectorsAreRunsOfTheirOwn) {
  const Graph graph = GraphBuilder(1, picture(4, 1, 1, 64)).fully_connected(32).build();
  // 2 blocks of 4 folds x 16; the parameters' round trip is longer: (10 + 100 + 64) / 2 = 87.
  // Loads: 2 x (64 + 7) and 4 vectors of 4 beats, each at least 7. STORE: 4 runs, each at least 7.
  EXPECT_EQ(estimate(graph, {.out_rows = 4, .out_cols = 1, .act_planes = 4}),
            2 * 87 + (170 + 4 + 28 + 248) + 170 / 32);
}

TEST(CostModel, ChunksThatDoNotStayAreLoadedForEveryColumnBlock) {
  const Graph graph = GraphBuilder(1, picture(1, 32, 32, 64)).conv(32, window(5, 1, 2)).build();
  // 8 tiles of 2 blocks x 100 folds x 128 pixels. A block loads weights 1600 + 7 and 4 planes x 3
  // pieces of kernel rows x 9 rows of 20 pixels. Ends: one of 12 chunks, and 128 + 128 + 248.
  const std::int64_t load = 2 * (1607 + 4 * 3 * 9 * 20);
  EXPECT_EQ(estimate(graph, {.out_rows = 8, .out_cols = 16, .act_planes = 2, .act_kernel_rows = 2}),
            8 * 2 * 12800 + (load / 12 + 128 + 128 + 248) + 8 * load / 32);
}

TEST(CostModel, RowsOfFullWidthAreOneRun) {
  const Graph graph = GraphBuilder(1, picture(1, 8, 4, 16)).conv(16, window(1)).build();
  // 32 pixels are 32 beats; as 8 runs of 4 they would take 8 x 7. Parameters: (38 + 164) / 2.
  EXPECT_EQ(estimate(graph, {.out_rows = 8, .out_cols = 4}), 101 + (55 + 32 + 32 + 248) + 55 / 32);
}

TEST(CostModel, AnArrayNarrowerThanABlockStoresPixelByPixel) {
  ArchConfig arch;
  arch.array_cols = 8;
  const Graph graph = GraphBuilder(1, picture(1, 16, 16, 16)).conv(8, window(1)).build();
  // STORE: 256 runs of a beat, each at least 7: the slowest unit. Loads: 8 + 7 + 256.
  EXPECT_EQ(estimate(graph, {.out_rows = 16, .out_cols = 16}, arch),
            1792 + (271 + 256 + 1792 + 200 + 32 + 8) + 271 / 32);
}

TEST(CostModel, PlanesOfABlockComeTogether) {
  ArchConfig arch;
  arch.array_rows = 8;
  const Graph graph = GraphBuilder(1, picture(1, 16, 16, 32)).conv(16, window(1)).build();
  // 2 blocks of 2 planes each: 2 x 4096 bytes at 8 a beat; 4 folds of 8 x 16 bytes: 32, and 7.
  EXPECT_EQ(estimate(graph, {.out_rows = 16, .out_cols = 16, .act_planes = 4}, arch),
            1063 + (1063 + 256 + 256 + 200 + 16 + 16) + 1063 / 32);
}

}  // namespace
}  // namespace qsim
