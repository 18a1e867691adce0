// Random layers: every bucket is met, values live, and many need several tiles of everything.
#include "formats/workload/random_layer.h"

#include <map>

#include "formats/settings/arch_config_file.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/ofmap_statistics.h"

namespace qsim {

using namespace formats;
namespace {

constexpr const char* kConfigs[] = {"pe4x4", "pe8x8", "pe16x16", "pe16x32", "pe32x32"};
constexpr std::uint64_t kLayers = 2000;

ArchConfig small_config(std::uint64_t seed) {
  Random random(seed * 7919);
  const std::string name = kConfigs[seed % std::size(kConfigs)];
  return shrink_memories(load_arch_config("configs/" + name + ".yaml"), random);
}

TEST(RandomLayer, SameSeedGivesTheSameLayer) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const ArchConfig arch = small_config(seed);
    EXPECT_EQ(arch, small_config(seed));
    const RandomLayer a = make_random_layer(seed, arch);
    const RandomLayer b = make_random_layer(seed, arch);
    EXPECT_EQ(a.input, b.input);
    EXPECT_EQ(a.buckets, b.buckets);
    EXPECT_FALSE(a.input == make_random_layer(seed + 1, arch).input);
  }
}

TEST(RandomLayer, TwoThousandLayersMeetEveryBucketAndNoOther) {
  std::map<Bucket, int> histogram;
  for (const Bucket& bucket : random_layer_buckets()) histogram[bucket] = 0;
  const std::size_t known = histogram.size();
  std::int64_t macs = 0;
  std::uint64_t many_tiles = 0;
  for (std::uint64_t seed = 0; seed < kLayers; ++seed) {
    SCOPED_TRACE(seed);
    const RandomLayer layer = make_random_layer(seed, small_config(seed));
    for (const Bucket& bucket : layer.buckets) ++histogram[bucket];
    if (layer.many_pixel_tiles && layer.many_in_channel_tiles && layer.many_out_channel_tiles) {
      ++many_tiles;
    }
    std::int64_t layer_total = 0;
    for (std::size_t i = 0; i < layer.graph.layers.size(); ++i) {
      layer_total += layer_macs(layer.graph, i);
    }
    EXPECT_LE(layer_total, 20'000'000);
    macs += layer_total;
  }
  EXPECT_EQ(histogram.size(), known) << "a bucket that random_layer_buckets does not list";
  for (const auto& [bucket, count] : histogram) {
    EXPECT_GT(count, 0) << bucket.feature << " " << bucket.value;
  }
  EXPECT_GE(3 * many_tiles, kLayers);
  EXPECT_LE(macs / static_cast<std::int64_t>(kLayers), 5'000'000);
  RecordProperty("many_tiles", static_cast<int>(many_tiles));
  RecordProperty("mean_kilo_macs", static_cast<int>(macs / 1000 / kLayers));
}

// A layer of two or three channels is a small sample, hence limits wider than those of
// the workloads.
TEST(RandomLayer, ValuesLiveUnderTheGolden) {
  constexpr OfmapLimits kLimits{12, 0.3};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomLayer layer = make_random_layer(seed, small_config(seed));
    expect_living_ofmaps(layer.graph, golden::run_graph(layer.graph, layer.input), kLimits);
  }
}

TEST(RandomLayer, NothingTheAcceleratorRefusesIsMade) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const RandomLayer made = make_random_layer(seed, small_config(seed));
    for (const Layer& layer : made.graph.layers) {
      if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
        const Window& w = conv->window;
        EXPECT_LE(std::max(w.kernel_h, w.kernel_w), 11);
        EXPECT_LE(std::max(w.stride_h, w.stride_w), 4);
        EXPECT_LT(std::max(w.pad_top, w.pad_bottom), w.kernel_h);
        EXPECT_LT(std::max(w.pad_left, w.pad_right), w.kernel_w);
        EXPECT_LT(static_cast<int>(conv->requantization.rounding), kAcceleratorRoundingModes);
        // sum |w| * 255 + |bias|, input zero_point folded in, stays below 2^31
        const std::int64_t depth = conv->weights.elems() / conv->weights.shape[0];
        EXPECT_LT(depth * 128 * 255, std::int64_t{1} << 30);
        for (const std::int32_t bias : conv->bias.as<std::int32_t>()) {
          EXPECT_LT(std::abs(std::int64_t{bias}), std::int64_t{1} << 30);
        }
      } else if (const auto* pool = std::get_if<MaxPool>(&layer.operation)) {
        EXPECT_LE(std::max(pool->window.kernel_h, pool->window.kernel_w), 4);
        EXPECT_LE(std::max(pool->window.stride_h, pool->window.stride_w), 4);
      }
    }
  }
}

TEST(RandomLayer, EveryShippedConfigWorksAtFullSizeToo) {
  for (const char* name : {"pe4x4", "pe16x32", "tpu128x128"}) {
    const ArchConfig arch = load_arch_config("configs/" + std::string(name) + ".yaml");
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(seed));
      EXPECT_FALSE(make_random_layer(seed, arch).graph.layers.empty());
    }
  }
}

TEST(RandomLayer, OddConfigsGetLayersThatKeepTheBounds) {
  ArchConfig flat;  // channel blocks of 64 planes, and slots that hold half of one
  flat.array_rows = 4;
  flat.array_cols = 256;
  flat.act_scratchpad_kib = 1;
  flat.act_slots = 8;
  ArchConfig huge;
  huge.array_rows = huge.array_cols = 256;
  huge.weight_scratchpad_kib = 1024;
  for (const ArchConfig& arch : {flat, huge}) {
    validate(arch);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE(seed);
      for (const Layer& layer : make_random_layer(seed, arch).graph.layers) {
        const auto* conv = std::get_if<Conv2d>(&layer.operation);
        const auto* fc = std::get_if<FullyConnected>(&layer.operation);
        if (conv == nullptr && fc == nullptr) continue;
        const Tensor& weights = conv != nullptr ? conv->weights : fc->weights;
        EXPECT_LE(weights.elems() / weights.shape[0], 32'768);
      }
    }
  }
}

TEST(ShrinkMemories, KeepsTheArrayAndMakesTheRestSmaller) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ArchConfig arch =
        load_arch_config("configs/" + std::string(kConfigs[seed % 5]) + ".yaml");
    const ArchConfig small = shrink_memories(arch, random);
    EXPECT_EQ(small.name, arch.name + "+small");
    EXPECT_EQ(small.array_rows, arch.array_rows);
    EXPECT_EQ(small.array_cols, arch.array_cols);
    EXPECT_LT(small.act_scratchpad_kib, arch.act_scratchpad_kib);
    EXPECT_LT(small.weight_scratchpad_kib, arch.weight_scratchpad_kib);
    EXPECT_LT(small.accumulator_kib, arch.accumulator_kib);
    EXPECT_LE(small.output_scratchpad_kib, arch.output_scratchpad_kib);
  }
}

}  // namespace
}  // namespace qsim
