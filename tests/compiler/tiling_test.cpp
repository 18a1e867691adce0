// How layers are cut: pieces cover the reduction exactly once and fit the memories.
#include "compiler/lowering/tiling.h"

#include <map>

#include <gtest/gtest.h>

#include "compiler/lowering/loop_nest.h"
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
    const LoopNest nest(g, mapping_of(g, tiling, c.arch), c.arch);
    const Reduction& reduction = nest.reduction_of_group(0);
    std::map<std::array<std::int64_t, 3>, int> seen;
    for (const ActChunk& chunk : reduction.acts) {
      EXPECT_EQ(chunk.planes.begin % g.granule_planes, 0);
      for (std::size_t w = chunk.first_weight; w < chunk.end_weight; ++w) {
        const WeightChunk& weights = reduction.weights[w];
        EXPECT_EQ(weights.first_fold, static_cast<std::int64_t>(seen.size()));
        EXPECT_LE(weights.folds() * c.arch.fold_words(), c.arch.weight_slot_words());
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

TEST(ReductionChunks, AreAsEqualAsTheirUnitAllows) {
  LayerGeometry g;
  g.planes = 9;
  g.window = window(1);
  const auto planes = [&](std::int64_t act_planes) {
    return mapping_of(g, {.act_planes = act_planes}, ArchConfig{}).act_planes;
  };
  EXPECT_EQ(planes(4), 3);
  g.planes = 18;
  g.granule_planes = 2;
  EXPECT_EQ(planes(8), 6);
}

// Slots of 32 MiB and an array whose folds are 64 KiB: a LOAD's run_bytes has 24 bits.
ArchConfig huge_arch() {
  ArchConfig arch;
  arch.array_rows = arch.array_cols = arch.bus_bytes = 256;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 65536;
  arch.accumulator_kib = arch.output_scratchpad_kib = 16384;
  arch.weight_slots = 2;
  return arch;
}

TEST(ReductionChunks, StayBelowTheBytesThatOneRunMayHave) {
  const ArchConfig arch = huge_arch();
  LayerGeometry g;
  g.planes = 600;
  g.window = window(1);
  const Mapping mapping = mapping_of(g, {.act_planes = 600}, arch);
  EXPECT_EQ(mapping.act_planes, 600);
  EXPECT_EQ(mapping.weight_folds, 200);  // 255 * 64 KiB < 2^24
}

TEST(ChooseTiling, ActivationChunksStayBelowTheBytesThatOneRunMayHave) {
  const ArchConfig arch = huge_arch();  // slots of 131072 words, but 65535 words are 2^24 bytes
  LayerGeometry g;
  g.planes = 600;
  g.window = window(15);
  g.in_rows = g.in_cols = 15;
  EXPECT_EQ(choose_tiling({}, g, arch).act_planes, 65535 / (15 * 15));
}

// Halves and slots that take 8192 pixels, and a latency that asks for large tiles.
ArchConfig long_tile_arch() {
  ArchConfig arch;
  arch.act_scratchpad_kib = 4096;
  arch.accumulator_kib = 1024;
  arch.output_scratchpad_kib = 256;
  arch.dram_latency_cycles = 10000;
  arch.outstanding_bursts = 256;
  return arch;
}

// Rows and columns of a tile.
std::pair<std::int64_t, std::int64_t> sides(const GraphBuilder& builder, const ArchConfig& arch) {
  const Graph graph = builder.build();
  const FusedLayer layer = fuse_layers(graph)[0];
  const Tiling t = choose_tiling(layer, layer_geometry(layer, arch), arch);
  return {t.out_rows, t.out_cols};
}

TEST(ChooseTiling, SidesOfATileStayWithinTwelveBits) {
  struct Sizes {
    std::int64_t length;
    Window conv;  // of a picture of one column
    Window pool;
    std::int64_t pixels;  // of a tile
  };
  for (const Sizes& sizes : {Sizes{7000, {}, {}, 3500}, Sizes{7000, {1, 1, 2, 1}, {}, 1750},
                             Sizes{7000, {}, {1, 1, 2, 1}, 1750},
                             // 4090 resident positions, but 4100 psums
                             Sizes{4090, {1, 1, 1, 1, 5, 0, 5, 0}, {}, 2050}}) {
    SCOPED_TRACE(sizes.pixels);
    const Window& conv = sizes.conv;
    const Window& pool = sizes.pool;
    GraphBuilder tall(1, picture(1, sizes.length, 1, 16));
    tall.conv(160, conv).max_pool(pool);
    EXPECT_EQ(sides(tall, long_tile_arch()), std::pair(sizes.pixels, std::int64_t{1}));
    GraphBuilder wide(1, picture(1, 1, sizes.length, 16));
    wide.conv(160, {1, 1, 1, conv.stride_h, 0, conv.pad_top, 0, conv.pad_bottom})
        .max_pool({1, 1, 1, pool.stride_h});
    EXPECT_EQ(sides(wide, long_tile_arch()), std::pair(std::int64_t{1}, sizes.pixels));
  }
}

TEST(ChooseTiling, TheOutputHalfLimitsATileToo) {
  ArchConfig arch = long_tile_arch();
  arch.output_scratchpad_kib = 16;  // 512 words a half
  GraphBuilder builder(1, picture(1, 2048, 1, 16));
  builder.conv(160, {});
  EXPECT_EQ(sides(builder, arch), std::pair(std::int64_t{512}, std::int64_t{1}));
}

TEST(ChooseTiling, ATileMayFillItsMemoriesToTheLastWord) {
  ArchConfig arch;  // halves of 512 words
  LayerGeometry g;
  g.window = window(1);
  g.in_rows = g.conv_rows = g.out_rows = 512;
  const Tiling t = choose_tiling({}, g, arch);
  EXPECT_EQ(arch.accumulator_half_words(), 512);
  EXPECT_EQ(arch.output_half_words(), 512);
  EXPECT_LE(t.out_rows, 512);
  // Nothing but one row of 512 pixels exists where a pool of 512 x 1 would need them all.
  g.pool = {512, 1, 1, 1};
  g.out_rows = 1;
  EXPECT_NO_THROW(choose_tiling({}, g, arch));
  g.pool = {513, 1, 1, 1};
  g.in_rows = g.conv_rows = 513;
  EXPECT_THROW(choose_tiling({}, g, arch), Error);
}

// A tile's psums, outputs and resident pixels, with pools of every stride. A few pools are too
// large for these small memories, and are refused.
TEST(ChooseTiling, TilesOfPooledLayersFitTheirMemories) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::int64_t sizes[] = {4, 8, 16};
    ArchConfig arch = small_arch(sizes[random.uniform(0, 2)], sizes[random.uniform(0, 2)]);
    if (random.chance(0.5)) arch.output_scratchpad_kib = 8;
    if (random.chance(0.5)) arch.accumulator_kib = 8;
    const Window conv{random.uniform(1, 5), random.uniform(1, 5), random.uniform(1, 3),
                      random.uniform(1, 3)};
    const Window pool{random.uniform(1, 4), random.uniform(1, 4), random.uniform(1, 4),
                      random.uniform(1, 4)};
    const Graph graph = GraphBuilder(seed, picture(1, random.uniform(16, 40),
                                                   random.uniform(16, 40), random.uniform(1, 40)))
                            .conv(random.uniform(1, 40), conv)
                            .max_pool(pool)
                            .build();
    const FusedLayer layer = fuse_layers(graph)[0];
    const LayerGeometry g = layer_geometry(layer, arch);
    Tiling t;
    try {
      t = choose_tiling(layer, g, arch);
    } catch (const Error&) {
      ++refused;
      continue;
    }
    const Range rows = conv_range({0, t.out_rows}, pool.kernel_h, pool.stride_h, 0, g.conv_rows);
    const Range cols = conv_range({0, t.out_cols}, pool.kernel_w, pool.stride_w, 0, g.conv_cols);
    EXPECT_LE(rows.size() * cols.size(), arch.accumulator_half_words());
    EXPECT_LE(t.out_rows * t.out_cols, arch.output_half_words());
    const Range in_rows = input_range(rows, {0, t.act_kernel_rows}, conv.stride_h, 0, g.in_rows);
    const Range in_cols = input_range(cols, {0, conv.kernel_w}, conv.stride_w, 0, g.in_cols);
    EXPECT_LE(in_rows.size() * in_cols.size() * round_up(t.act_planes, g.granule_planes),
              arch.act_slot_words());
  }
  EXPECT_LT(refused, 60);
}

TEST(ActIsResident, OnlyWhenOneChunkHoldsTheWholeReduction) {
  LayerGeometry g;
  g.planes = 4;
  g.window = window(3);
  EXPECT_TRUE(act_is_resident(g, {.act_planes = 4, .act_kernel_rows = 3}));
  EXPECT_FALSE(act_is_resident(g, {.act_planes = 3, .act_kernel_rows = 3}));
  EXPECT_FALSE(act_is_resident(g, {.act_planes = 4, .act_kernel_rows = 2}));
}

TEST(ChooseTiling, ALayerWhoseSmallestTileDoesNotFitIsRefusedByName) {
  ArchConfig arch = small_arch(16, 16);
  arch.act_scratchpad_kib = 1;  // 32 words a slot
  const Graph graph = GraphBuilder(1, picture(1, 50, 50, 16))
                          .conv(5, window(2))
                          .max_pool({4, 4, 4, 4, 0, 0, 0, 0})
                          .build();
  FusedLayer layer = fuse_layers(graph)[0];
  layer.source = "net.onnx: node 'conv0' (QLinearConv)";
  const LayerGeometry g = layer_geometry(layer, arch);
  EXPECT_NO_THROW(choose_tiling(layer, g, arch));
  arch.act_slots = 4;  // 16 words a slot; a pooled pixel needs 4 rows of 5 columns
  try {
    choose_tiling(layer, layer_geometry(layer, arch), arch);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_STREQ(error.what(),
                 "net.onnx: node 'conv0' (QLinearConv): its smallest tile does not fit config "
                 "'small': it needs 20 words of an activation slot (16 available), 16 of an "
                 "accumulator half (32 available) and 1 of an output half (32 available)");
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
