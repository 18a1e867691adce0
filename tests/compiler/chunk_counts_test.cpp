// Counts of chunks in closed form: those of the loop nest, which makes the chunks.
#include "compiler/lowering/chunk_counts.h"

#include <gtest/gtest.h>

#include "compiler/lowering/layer_sums.h"
#include "compiler/lowering/loop_nest.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/random_mapping.h"
#include "tests/compiler/shape_layer.h"

namespace qsim {

using namespace compiler;
namespace {

TEST(ChunkCounts, AreThoseOfTheLoopNest) {
  std::int64_t smaller_first = 0;
  std::int64_t later = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::int64_t sizes[] = {4, 8, 16};
    ArchConfig arch = testing::small_arch(sizes[random.uniform(0, 2)], sizes[random.uniform(0, 2)]);
    arch.weight_scratchpad_kib = arch.act_scratchpad_kib = 256;
    testing::LayerShape shape;
    shape.rows = shape.cols = random.uniform(9, 12);
    shape.channels = random.uniform(1, 80);
    shape.out_channels = random.uniform(1, 40);
    shape.window.kernel_h = random.uniform(1, 7);
    shape.window.kernel_w = random.uniform(1, 7);
    if (random.chance(0.3)) {
      shape.window.kernel_h = shape.window.kernel_w = random.uniform(1, 3);
      shape.window.dilation_h = random.uniform(1, 4);
      shape.window.dilation_w = random.uniform(1, 4);
    }
    shape.weight_parts = random.chance(0.3) ? random.uniform(2, 3) : 1;
    const testing::ShapeLayer layer(shape, arch);
    const LayerGeometry& g = (*layer).geometry;
    const Mapping m = testing::random_mapping(g, arch, testing::smallest_mapping(g), random);
    SCOPED_TRACE(mapping_text(m));

    const LoopNest nest(g, m);
    const ChunkCounts counts = count_chunks(g, g.planes, m);
    const Reduction& reduction = nest.reduction_of_group(0);
    EXPECT_EQ(counts.acts, std::ssize(reduction.acts));
    EXPECT_EQ(counts.weights, std::ssize(reduction.weights));
    EXPECT_EQ(counts.weights + counts.more_weights, nest.weight_chunks_of_group(0));
    EXPECT_EQ(counts.splits_acts(), nest.splits_first_chunk() || counts.weights > counts.acts);
    EXPECT_EQ(counts.first_folds, nest.first_pass().reduction->weights.front().folds());
    EXPECT_EQ(counts.last_folds, reduction.weights.back().folds());
    std::int64_t largest = 0;
    std::int64_t later_folds = 0;
    for (const ActChunk& act : reduction.acts) {
      std::int64_t folds = 0;
      std::int64_t most = 0;
      for (std::size_t w = act.first_weight; w < act.end_weight; ++w) {
        folds += reduction.weights[w].folds();
        most = std::max(most, reduction.weights[w].folds());
      }
      largest = std::max(largest, most);
      later_folds += folds - most;
    }
    EXPECT_EQ(counts.largest_folds, largest);
    EXPECT_EQ(counts.later_folds, later_folds);

    const CommandCounts made = nest.counts();
    const CommandCounts summed = LayerSums(*layer, arch).counts(m, counts);
    EXPECT_EQ(summed.executes, made.executes);
    EXPECT_EQ(summed.act_loads, made.act_loads);
    EXPECT_EQ(summed.weight_loads, made.weight_loads);
    EXPECT_EQ(summed.param_loads, made.param_loads);
    EXPECT_EQ(summed.turns, made.turns);
    EXPECT_EQ(summed.posts, made.posts);
    smaller_first += counts.more_weights > 0 ? 1 : 0;
    later += counts.later_folds > 0 ? 1 : 0;
  }
  EXPECT_GT(smaller_first, 50);
  EXPECT_GT(later, 200);
}

}  // namespace
}  // namespace qsim
