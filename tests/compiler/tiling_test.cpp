// How layers are cut: pieces cover the reduction exactly once and fit the memories.
#include "compiler/lowering/tiling.h"

#include <map>

#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "core/checked_math.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

struct Case {
  Graph graph;
  ArchConfig arch;
};

Case random_case(std::uint64_t seed) {
  Random random(seed);
  const std::int64_t sizes[] = {4, 8, 16};
  Case c;
  c.arch = small_arch(sizes[random.uniform(0, 2)], sizes[random.uniform(0, 2)]);
  const Window w{random.uniform(1, 11), random.uniform(1, 11), random.uniform(1, 4),
                 random.uniform(1, 4),  random.uniform(0, 2),  0,
                 random.uniform(0, 2),  random.uniform(0, 3)};
  c.graph = GraphBuilder(seed, picture(1, random.uniform(11, 40), random.uniform(11, 40),
                                       random.uniform(1, 90)))
                .conv(random.uniform(1, 60), w)
                .build();
  return c;
}

TEST(ReductionChunks, CoverEveryFoldOnceAndFitTheirSlots) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = random_case(seed);
    const FusedLayer layer = fuse_layers(c.graph)[0];
    const LayerGeometry g = layer_geometry(layer, c.arch);
    const Tiling tiling = choose_tiling(layer, g, c.arch);
    std::map<std::array<std::int64_t, 3>, int> seen;
    for (const ActChunk& chunk : reduction_chunks(g, tiling, 0, c.arch)) {
      EXPECT_EQ(chunk.planes.begin % g.granule_planes, 0);
      for (const WeightChunk& weights : chunk.weights) {
        EXPECT_LE(weights.folds() * c.arch.array_rows, c.arch.weight_slot_words());
        for (auto p = weights.planes.begin; p < weights.planes.end; ++p) {
          for (auto ky = weights.kernel_rows.begin; ky < weights.kernel_rows.end; ++ky) {
            for (auto kx = weights.kernel_cols.begin; kx < weights.kernel_cols.end; ++kx) {
              ++seen[{p, ky, kx}];
            }
          }
        }
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()),
              g.planes * g.window.kernel_h * g.window.kernel_w);
    for (const auto& [fold, count] : seen) EXPECT_EQ(count, 1);
  }
}

TEST(ChooseTiling, TilesFitAccumulatorOutputAndActivationSlot) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = random_case(seed);
    const FusedLayer layer = fuse_layers(c.graph)[0];
    const LayerGeometry g = layer_geometry(layer, c.arch);
    const Tiling t = choose_tiling(layer, g, c.arch);
    EXPECT_LE(t.out_rows * t.out_cols, c.arch.accumulator_half_words());
    EXPECT_LE(t.out_rows * t.out_cols, c.arch.output_half_words());
    const auto rows = std::min(g.in_rows, (t.out_rows - 1) * g.window.stride_h + t.act_kernel_rows);
    const auto cols = std::min(g.in_cols, (t.out_cols - 1) * g.window.stride_w + g.window.kernel_w);
    EXPECT_LE(rows * cols * round_up(t.act_planes, g.granule_planes), c.arch.act_slot_words());
  }
}

TEST(ChooseTiling, ALayerWhoseSmallestTileDoesNotFitIsRefusedByName) {
  ArchConfig arch = small_arch(16, 16);
  arch.act_scratchpad_kib = 1;  // 32 words a slot
  const Graph graph = GraphBuilder(1, picture(1, 50, 50, 16))
                          .conv(5, window(2))
                          .max_pool({4, 4, 4, 4, 0, 0, 0, 0})
                          .build();
  const FusedLayer layer = fuse_layers(graph)[0];
  const LayerGeometry g = layer_geometry(layer, arch);
  EXPECT_NO_THROW(choose_tiling(layer, g, arch));
  arch.act_slots = 4;  // 16 words a slot; a pooled pixel needs 4 rows of 5 columns
  try {
    choose_tiling(layer, layer_geometry(layer, arch), arch);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_STREQ(error.what(),
                 "layer 'conv0': its smallest tile does not fit config 'small': it needs 20 words "
                 "of an activation slot (16 there), 16 of an accumulator half (32 there) and 1 of "
                 "an output half (32 there)");
  }
}

TEST(InputRange, StaysInsideThePictureEvenUnderPadding) {
  EXPECT_EQ(input_range({0, 4}, {0, 3}, 1, 1, 8), (Range{0, 5}));
  EXPECT_EQ(input_range({4, 8}, {0, 3}, 1, 1, 8), (Range{3, 8}));
  EXPECT_EQ(input_range({0, 1}, {0, 1}, 1, 3, 8), (Range{0, 1}));  // all padding: one row anyway
  EXPECT_EQ(input_range({9, 10}, {2, 3}, 1, 2, 8), (Range{7, 8}));
  EXPECT_EQ(input_range({1, 3}, {0, 2}, 3, 0, 20), (Range{3, 8}));
}

TEST(ConvRange, OverlappingPoolsReadSharedPositionsTwice) {
  EXPECT_EQ(conv_range({0, 2}, 3, 2, 0, 13), (Range{0, 5}));
  EXPECT_EQ(conv_range({2, 4}, 3, 2, 0, 13), (Range{4, 9}));
  EXPECT_EQ(conv_range({0, 2}, 3, 2, 1, 13), (Range{0, 4}));
  EXPECT_EQ(conv_range({6, 7}, 3, 2, 0, 13), (Range{12, 13}));
}

}  // namespace
}  // namespace qsim
