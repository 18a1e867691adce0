// OfmapComparison (report/tensor_comparison.h) says of ofmaps in DRAM, in any order, what it says
// of their tensors one after the other (compare_ofmaps, which tensor_comparison_test.cpp tests).
#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "report/tensor_comparison.h"

namespace qsim {

using namespace report;
namespace {

// What an engine left: a program, golden's tensors, and each ofmap as it lies in DRAM.
struct Case {
  Program program;
  std::vector<Tensor> golden;
  std::vector<std::vector<std::byte>> dram;
};

// STOREs of the right columns and then of the left ones, so that the tile stored first does not
// hold the tensor's first value.
void add_tiles(Program& program, std::int32_t layer, const ImageShape& shape, Random& random) {
  const auto width = static_cast<std::int32_t>(shape.width);
  const auto height = static_cast<std::int32_t>(shape.height);
  const auto split = static_cast<std::int32_t>(random.uniform(0, width));
  const auto channels = static_cast<std::int32_t>(shape.channels + random.uniform(0, 5));
  const auto batch = static_cast<std::int32_t>(shape.batch);
  program.streams.append({0, 0, Store{}},
                         {layer, 0, 0, batch, 0, height, split, width, 0, channels});
  if (random.chance(0.3)) return;  // the rest is written by no STORE
  program.streams.append({0, 0, Store{}}, {layer, 1, 0, batch, 0, height, 0, split, 0, channels});
}

void add_layer(Case& made, std::int32_t index, Random& random) {
  ProgramLayer layer;
  layer.name = "layer" + std::to_string(index);
  layer.graph_layer = 2 * index + 1;
  layer.ofmap.address = random.uniform(0, 9) * 64;
  layer.ofmap.block = std::int64_t{1} << random.uniform(2, 5);
  layer.ofmap.value.shape = {random.uniform(1, 2), random.uniform(1, 6), random.uniform(1, 6),
                             random.uniform(1, 40)};
  layer.ofmap.value.dtype = random.chance(0.5) ? DType::kUint8 : DType::kInt8;
  add_tiles(made.program, index, layer.ofmap.value.shape, random);
  std::vector<std::byte> dram(static_cast<std::size_t>(layer.ofmap.size_bytes()));
  for (std::byte& byte : dram) byte = static_cast<std::byte>(random.next());
  made.golden.emplace_back();  // of a graph layer that is not an ofmap
  made.golden.push_back(unpack(layer.ofmap, dram));
  made.dram.push_back(std::move(dram));
  made.program.layers.push_back(layer);
}

Case random_case(Random& random) {
  Case made;
  const auto layers = static_cast<std::int32_t>(random.uniform(1, 5));
  for (std::int32_t i = 0; i < layers; ++i) add_layer(made, i, random);
  return made;
}

// Makes the engine's element (n, y, x, c) another than golden's.
void plant(Case& made, std::size_t layer, Random& random) {
  const DramTensor& ofmap = made.program.layers[layer].ofmap;
  const ImageShape& shape = ofmap.value.shape;
  const std::int64_t at = ofmap.element_address(
      random.uniform(0, shape.batch - 1), random.uniform(0, shape.height - 1),
      random.uniform(0, shape.width - 1), random.uniform(0, shape.channels - 1));
  const auto change = static_cast<std::byte>(random.uniform(1, 255));
  made.dram[layer][static_cast<std::size_t>(at - ofmap.address)] ^= change;
}

const Tensor& golden_of(const Case& made, std::size_t layer) {
  return made.golden[static_cast<std::size_t>(made.program.layers[layer].graph_layer)];
}

// One after the other, in an order drawn at random.
Comparison in_any_order(const Case& made, Random& random) {
  std::vector<std::size_t> order(made.dram.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i], order[static_cast<std::size_t>(random.uniform(0, std::int64_t(i)))]);
  }
  OfmapComparison comparison(made.program);
  for (const std::size_t layer : order) {
    comparison.add(layer, golden_of(made, layer), made.dram[layer]);
  }
  return comparison.result();
}

Comparison of_tensors(const Case& made) {
  RunResult result;
  for (std::size_t i = 0; i < made.dram.size(); ++i) {
    result.ofmaps.push_back(unpack(made.program.layers[i].ofmap, made.dram[i]));
  }
  return compare_ofmaps(made.program, made.golden, result);
}

void expect_same(const Comparison& found, const Comparison& expected) {
  ASSERT_EQ(found.layers.size(), expected.layers.size());
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    EXPECT_EQ(found.layers[i].layer, expected.layers[i].layer);
    EXPECT_EQ(found.layers[i].values, expected.layers[i].values) << i;
    EXPECT_EQ(found.layers[i].mismatches, expected.layers[i].mismatches) << i;
  }
  ASSERT_EQ(found.first.has_value(), expected.first.has_value());
  if (!found.first) return;
  EXPECT_EQ(divergence_text(*found.first), divergence_text(*expected.first));
  EXPECT_EQ(found.first->origin, expected.first->origin);
}

TEST(OfmapComparison, SaysWhatCompareOfmapsSaysInAnyOrder) {
  std::int64_t mismatches = 0;
  int without_tile = 0;
  int later_layers = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Case made = random_case(random);
    for (std::int64_t i = random.uniform(0, 4); i > 0; --i) {
      const auto last = static_cast<std::int64_t>(made.dram.size()) - 1;
      plant(made, static_cast<std::size_t>(random.uniform(0, last)), random);
    }
    const Comparison expected = of_tensors(made);
    expect_same(in_any_order(made, random), expected);
    mismatches += expected.mismatches();
    if (!expected.first) continue;
    without_tile += expected.first->origin ? 0 : 1;
    later_layers += expected.first->layer == "layer0" ? 0 : 1;
  }
  EXPECT_GT(mismatches, 500);
  EXPECT_GT(without_tile, 10);
  EXPECT_GT(later_layers, 100);
}

TEST(OfmapComparison, EverySingleWrongByteIsFoundAndNoLaneBeyondTheChannelsCounts) {
  Random random(3);
  Case made;
  add_layer(made, 0, random);
  ProgramLayer& layer = made.program.layers[0];
  layer.ofmap.block = 4;
  layer.ofmap.value.dtype = DType::kUint8;
  layer.ofmap.value.shape = {2, 3, 2, 6};
  made.dram[0].assign(static_cast<std::size_t>(layer.ofmap.size_bytes()), std::byte{0x11});
  made.golden[1] = unpack(layer.ofmap, made.dram[0]);
  EXPECT_EQ(in_any_order(made, random).mismatches(), 0);
  std::int64_t found = 0;
  for (std::byte& byte : made.dram[0]) {
    byte ^= std::byte{0x80};
    const Comparison comparison = in_any_order(made, random);
    expect_same(comparison, of_tensors(made));
    found += comparison.mismatches();
    byte ^= std::byte{0x80};
  }
  EXPECT_EQ(found, 2 * 3 * 2 * 6);
}

TEST(OfmapComparison, AnotherShapeAMissingLayerAndALayerThatComesTwiceAreBugs) {
  Random random(4);
  Case made;
  add_layer(made, 0, random);
  const Tensor& golden = golden_of(made, 0);
  OfmapComparison comparison(made.program);
  EXPECT_THROW(comparison.result(), InternalError);
  EXPECT_THROW(comparison.add(0, Tensor(golden.dtype, {9, 9, 9, 9}), made.dram[0]), InternalError);
  EXPECT_THROW(comparison.add(0, Tensor(DType::kInt32, golden.shape), made.dram[0]), InternalError);
  EXPECT_THROW(comparison.add(0, golden, std::span(made.dram[0]).subspan(1)), InternalError);
  comparison.add(0, golden, made.dram[0]);
  EXPECT_EQ(comparison.result().values(), golden.elems());
  EXPECT_THROW(comparison.add(0, golden, made.dram[0]), InternalError);
  EXPECT_THROW(comparison.add(0, golden, golden), InternalError);
}

}  // namespace
}  // namespace qsim
