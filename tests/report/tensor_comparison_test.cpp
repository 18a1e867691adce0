// report/tensor_comparison.h
#include "report/tensor_comparison.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim {

using namespace report;
namespace {

// One layer [1][4][6][8] in four tiles: columns 3..6 are stored before columns 0..3.
Program tiled_program() {
  Program program;
  ProgramLayer layer;
  layer.name = "conv1";
  layer.graph_layer = 1;
  layer.ofmap.value.shape = {1, 4, 6, 8};
  program.layers.push_back(layer);
  const Origin origins[] = {{0, 0, 0, 1, 0, 2, 3, 6, 0, 8},
                            {0, 1, 0, 1, 0, 2, 0, 3, 0, 8},
                            {0, 2, 0, 1, 2, 4, 3, 6, 0, 8},
                            {0, 3, 0, 1, 2, 4, 0, 3, 0, 16}};  // channels beyond the tensor's
  for (const Origin& origin : origins) {
    program.streams.append({0, 0, Store{}}, origin);
  }
  return program;
}

Tensor random_tensor(std::uint64_t seed, DType dtype = DType::kInt8) {
  Tensor tensor(dtype, {1, 4, 6, 8});
  Random random(seed);
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random.uniform(0, 255));
  return tensor;
}

std::size_t index_of(std::size_t y, std::size_t x, std::size_t c) { return (y * 6 + x) * 8 + c; }

TEST(Compare, EqualTensorsHaveNoMismatchAndEveryValueIsCounted) {
  const Tensor tensor = random_tensor(1);
  RunResult result;
  result.ofmaps = {tensor};
  const Comparison comparison = compare_ofmaps(tiled_program(), {Tensor(), tensor}, result);
  EXPECT_EQ(comparison.values(), 192);
  EXPECT_EQ(comparison.mismatches(), 0);
  EXPECT_FALSE(comparison.first.has_value());
}

TEST(Compare, FirstDivergenceIsInTheTileThatIsStoredFirst) {
  const Tensor golden = random_tensor(2);
  RunResult result;
  result.ofmaps = {golden};
  auto found = result.ofmaps[0].as<std::int8_t>();
  found[index_of(0, 0, 0)] = static_cast<std::int8_t>(found[index_of(0, 0, 0)] ^ 1);  // tile 1
  found[index_of(1, 4, 5)] = static_cast<std::int8_t>(found[index_of(1, 4, 5)] ^ 1);  // tile 0
  found[index_of(1, 5, 2)] = static_cast<std::int8_t>(found[index_of(1, 5, 2)] ^ 1);  // tile 0
  const Comparison comparison = compare_ofmaps(tiled_program(), {Tensor(), golden}, result);
  EXPECT_EQ(comparison.mismatches(), 3);
  ASSERT_TRUE(comparison.first.has_value());
  const Divergence& first = *comparison.first;
  EXPECT_EQ(first.layer, "conv1");
  ASSERT_TRUE(first.origin.has_value());
  EXPECT_EQ(first.origin->tile, 0);
  EXPECT_EQ(first.n, 0);
  EXPECT_EQ(first.y, 1);
  EXPECT_EQ(first.x, 4);
  EXPECT_EQ(first.c, 5);
  EXPECT_EQ(first.expected, golden.as<std::int8_t>()[index_of(1, 4, 5)]);
  EXPECT_EQ(first.found, found[index_of(1, 4, 5)]);
}

TEST(Compare, OriginThatReachesBeyondTheChannelsIsCut) {
  const Tensor golden = random_tensor(3);
  RunResult result;
  result.ofmaps = {golden};
  auto found = result.ofmaps[0].as<std::int8_t>();
  found[index_of(3, 2, 7)] = static_cast<std::int8_t>(found[index_of(3, 2, 7)] ^ 0x40);
  const Comparison comparison = compare_ofmaps(tiled_program(), {Tensor(), golden}, result);
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_EQ(comparison.first->origin->tile, 3);
  EXPECT_EQ(comparison.first->c, 7);
}

TEST(Compare, UnsignedValuesAreReportedAsUnsigned) {
  Tensor golden = random_tensor(4, DType::kUint8);
  golden.as<std::uint8_t>()[0] = 200;
  RunResult result;
  result.ofmaps = {golden};
  result.ofmaps[0].as<std::uint8_t>()[0] = 201;
  const Comparison comparison = compare_ofmaps(tiled_program(), {Tensor(), golden}, result);
  EXPECT_EQ(divergence_text(*comparison.first),
            "conv1 tile 1 (n 0..1, y 0..2, x 0..3, c 0..8): at n 0, y 0, x 0, c 0 expected 200, "
            "found 201");
}

TEST(Compare, ValueThatNoStoreWroteHasNoTile) {
  Program program = tiled_program();
  program.streams = {};
  const Tensor golden = random_tensor(5);
  RunResult result;
  result.ofmaps = {golden};
  result.ofmaps[0].bytes[9] ^= std::byte{1};
  const Comparison comparison = compare_ofmaps(program, {Tensor(), golden}, result);
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_FALSE(comparison.first->origin.has_value());
  EXPECT_EQ(comparison.first->x, 1);
  EXPECT_EQ(comparison.first->c, 1);
}

TEST(Compare, OfTwoLayersThatDifferTheFirstIsNamedAndBothAreCounted) {
  Program program = tiled_program();
  program.layers.push_back(program.layers[0]);
  program.layers[1].name = "conv2";
  const Tensor golden = random_tensor(9);
  RunResult result;
  result.ofmaps = {golden, golden};
  result.ofmaps[0].bytes[index_of(3, 5, 7)] ^= std::byte{1};
  result.ofmaps[1].bytes[0] ^= std::byte{1};
  result.ofmaps[1].bytes[1] ^= std::byte{1};
  const Comparison comparison = compare_ofmaps(program, {Tensor(), golden}, result);
  ASSERT_EQ(comparison.layers.size(), 2u);
  EXPECT_EQ(comparison.layers[0].mismatches, 1);
  EXPECT_EQ(comparison.layers[1].mismatches, 2);
  EXPECT_EQ(comparison.layers[1].layer, "conv2");
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_EQ(comparison.first->layer, "conv1");
  EXPECT_EQ(comparison.first->c, 7);
}

TEST(Compare, OtherShapeOrDtypeIsABugAndNotAMismatch) {
  RunResult result;
  result.ofmaps = {Tensor(DType::kInt8, {1, 4, 6, 4})};
  EXPECT_THROW(compare_ofmaps(tiled_program(), {Tensor(), random_tensor(6)}, result),
               InternalError);
  result.ofmaps = {Tensor(DType::kUint8, {1, 4, 6, 8})};
  EXPECT_THROW(compare_ofmaps(tiled_program(), {Tensor(), random_tensor(6)}, result),
               InternalError);
  result.ofmaps.clear();
  EXPECT_THROW(compare_ofmaps(tiled_program(), {Tensor(), random_tensor(6)}, result),
               InternalError);
}

TEST(Compare, GraphLayersNameTheFirstLayerThatDiffers) {
  Graph graph;
  graph.layers = {{"a", Relu{}, {}}, {"b", Relu{}, {}}};
  const std::vector<Tensor> expected = {random_tensor(7), random_tensor(8)};
  std::vector<Tensor> found = expected;
  EXPECT_EQ(compare_graph_layers(graph, expected, found).mismatches(), 0);
  found[1].bytes[index_of(2, 3, 4)] ^= std::byte{0x80};
  const Comparison comparison = compare_graph_layers(graph, expected, found);
  EXPECT_EQ(comparison.mismatches(), 1);
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_EQ(comparison.first->layer, "b");
  EXPECT_EQ(comparison.first->y, 2);
  EXPECT_EQ(comparison.first->x, 3);
  EXPECT_EQ(comparison.first->c, 4);
}

}  // namespace
}  // namespace qsim
