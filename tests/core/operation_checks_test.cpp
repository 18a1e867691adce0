// What each operation of a graph with branches demands of its tensors: each error once, provoked
// in a graph that is valid otherwise.
#include "core/network/operation_checks.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/network/graph_shapes.h"
#include "tests/core/graph_refusals.h"

namespace qsim {
namespace {

Value value_of(ImageShape shape, float scale = 0.1F) {
  return {shape, DType::kInt8, 0, Scale::of(scale)};
}

// input -> conv (2 groups, dilation 2, int16 weights) -> pool (average) -> table; conv + input ->
// add, which meets the table in a concatenation.
Graph small_network() {
  Graph graph;
  graph.name = "branches";
  const ImageShape picture{1, 6, 6, 4};
  graph.input_value() = value_of(picture);
  Window dilated{3, 3, 1, 1, 2, 2, 2, 2, 2, 2};
  Conv2d conv{.window = dilated,
              .weights = Tensor(DType::kInt16, {4, 3, 3, 2}),
              .bias = Tensor(DType::kInt32, {4}),
              .requantization = {.shifts = {}, .requantizers = std::vector<Requantizer>(4)},
              .groups = 2};
  const TensorId made = append(graph, "conv", conv, value_of(picture));
  AveragePool pool{.window = {3, 3, 1, 1, 1, 1, 1, 1}};
  append(graph, "pool", pool, value_of(picture, 0.2F));
  const TensorId looked_up = append(graph, "table", LookupTable{"half"}, value_of(picture, 0.3F));
  const TensorId added = append(graph, "add", Add{}, {made, graph.input}, value_of(picture, 0.3F));
  append(graph, "concat", Concat{}, {looked_up, added}, value_of({1, 6, 6, 8}, 0.3F));
  return graph;
}

Conv2d& conv(Graph& graph) { return std::get<Conv2d>(graph.layers[0].operation); }
AveragePool& pool(Graph& graph) { return std::get<AveragePool>(graph.layers[1].operation); }
Add& add(Graph& graph) { return std::get<Add>(graph.layers[3].operation); }

using testing::refusal;

void expect_refusals(const std::vector<testing::Breakage<Graph>>& breakages) {
  testing::expect_refusals(small_network(), breakages);
}

TEST(OperationChecks, AcceptANetworkOfAllNewOperations) {
  const Graph graph = small_network();
  EXPECT_EQ(refusal(graph), "");
  EXPECT_EQ(refusal(without_tensors(graph)), "");
  // A group's output channels read the channels of their own group alone.
  EXPECT_EQ(layer_macs(graph, 0), 6 * 6 * 4 * 3 * 3 * 2);
  for (std::size_t i = 1; i < graph.layers.size(); ++i) EXPECT_EQ(layer_macs(graph, i), 0);
}

TEST(OperationChecks, RefuseBrokenConvolutions) {
  expect_refusals({
      {"layer 'conv': dilation is smaller than 1; allowed: 1 or more",
       [](Graph& g) { conv(g).window.dilation_w = 0; }},
      {"layer 'conv': 3 groups do not divide 4 input channels and 4 output channels",
       [](Graph& g) { conv(g).groups = 3; }},
      {"layer 'conv': 0 groups do not divide 4 input channels and 4 output channels",
       [](Graph& g) { conv(g).groups = 0; }},
      {"layer 'conv': weights is int16 [4, 3, 3, 2]; expected int16 [4, 3, 3, 4]",
       [](Graph& g) { conv(g).groups = 1; }},
      {"layer 'conv': weight 256 is outside -255..255",
       [](Graph& g) { conv(g).weights.as<std::int16_t>()[5] = 256; }},
      {"layer 'conv': weight -256 is outside -255..255",
       [](Graph& g) { conv(g).weights.as<std::int16_t>()[71] = -256; }},
      {"layer 'conv': 3 requantizers; expected 1 or 4",
       [](Graph& g) { conv(g).requantization.requantizers.pop_back(); }},
      {"layer 'conv': output shape [1, 6, 6, 4]; expected [1, 8, 6, 4]",
       [](Graph& g) { conv(g).window.dilation_h = 1; }},
  });
  Graph graph = small_network();
  conv(graph).weights.as<std::int16_t>()[0] = 255;
  conv(graph).weights.as<std::int16_t>()[1] = -255;
  EXPECT_EQ(refusal(graph), "");
}

TEST(OperationChecks, ARequantizerOutOfRangeIsABug) {
  Graph graph = small_network();
  conv(graph).requantization.requantizers[2].multiplier = kLeastMultiplier - 1;
  EXPECT_THROW(validate(graph), InternalError);
  graph = small_network();
  conv(graph).requantization.requantizers[2].rounding = RequantizerRounding::kFloor;
  EXPECT_THROW(validate(graph), InternalError);
  graph = small_network();
  conv(graph).requantization.requantizers.resize(1);
  EXPECT_EQ(refusal(graph), "");
  conv(graph).requantization.shifts = {1, 2, 3};
  EXPECT_THROW(validate(graph), InternalError);
}

TEST(OperationChecks, RefuseBrokenAveragePools) {
  expect_refusals({
      {"layer 'pool': padding is as large as the pooling kernel; allowed: less",
       [](Graph& g) { pool(g).window.pad_bottom = 3; }},
      {"layer 'pool': output shape [1, 6, 6, 4]; expected [1, 5, 6, 4]",
       [](Graph& g) { pool(g).window.pad_top = 0; }},
      {"layer 'pool': dilation is 2 x 1; average_pool takes 1 alone",
       [](Graph& g) { pool(g).window = {2, 3, 1, 1, 1, 1, 1, 1, 2, 1}; }},
      {"layer 'pool': clamp range 4..-4 is not within -128..127",
       [](Graph& g) { pool(g).lo = 4, pool(g).hi = -4; }},
      {"layer 'pool': a tensor that it reads or writes has no scale",
       [](Graph& g) { g.output_of(0).scale = std::nullopt; }},
      {"layer 'pool': a tensor that it reads or writes has no scale",
       [](Graph& g) { g.output_of(1).scale = std::nullopt; }},
      {"layer 'pool': the ratio of its scales is not a positive float32",
       [](Graph& g) {
         g.output_of(0).scale = Scale::power_of_two(-100);
         g.output_of(1).scale = Scale::power_of_two(100);
       }},
      {"layer 'pool': the ratio of its scales is not a positive float32",
       [](Graph& g) {
         g.output_of(0).scale = Scale::power_of_two(100);
         g.output_of(1).scale = Scale::power_of_two(-100);
       }},
  });
}

TEST(OperationChecks, RefuseBrokenAdditions) {
  expect_refusals({
      {"layer 'add': reads 1 tensors; add reads 2",
       [](Graph& g) { g.layers[3].inputs.pop_back(); }},
      {"layer 'add': reads a tensor [1, 6, 6, 4]; expected [1, 6, 5, 4]",
       [](Graph& g) { g.output_of(3).shape.width = 5; }},
      {"layer 'add': clamp range -128..128 is not within -128..127",
       [](Graph& g) { add(g).hi = 128; }},
      {"layer 'add': a tensor that it reads or writes has no scale",
       [](Graph& g) { g.input_value().scale = std::nullopt; }},
      {"layer 'add': a tensor that it reads or writes has no scale",
       [](Graph& g) { g.output_of(3).scale = std::nullopt; }},
      {"layer 'add': the scale of operand 1 is 333.333313 times the output's; allowed: 2^-16 times "
       "or "
       "more, and less than 2^8 times",
       [](Graph& g) { g.input_value().scale = Scale::of(100.0F); }},
      {"layer 'add': the scale of operand 1 is 3.3333331e-06 times the output's; allowed: 2^-16 "
       "times or "
       "more, and less than 2^8 times",
       [](Graph& g) { g.input_value().scale = Scale::of(1e-6F); }},
  });
}

TEST(OperationChecks, RefuseBrokenConcatenations) {
  const std::string differs =
      "layer 'concat': an operand has another dtype, zero_point or scale than the output";
  expect_refusals({
      {"layer 'concat': reads 1 tensors; concat reads at least 2",
       [](Graph& g) { g.layers[4].inputs.pop_back(); }},
      {differs, [](Graph& g) { g.output_of(3).scale = Scale::of(0.4F); }},
      {differs, [](Graph& g) { g.output_of(2).zero_point = 1; }},
      {differs, [](Graph& g) { g.output_of(4).dtype = DType::kUint8; }},
      {"layer 'concat': output shape [1, 6, 6, 9]; expected [1, 6, 6, 8]",
       [](Graph& g) { g.output_of(4).shape.channels = 9; }},
      {"layer 'concat': reads a tensor [1, 6, 6, 4]; expected [1, 6, 7, 4]",
       [](Graph& g) { g.output_of(4).shape.width = 7; }},
  });
}

TEST(OperationChecks, RefuseATableThatChangesTheShape) {
  expect_refusals({
      {"layer 'table': output shape [1, 6, 6, 3]; expected [1, 6, 6, 4]",
       [](Graph& g) { g.output_of(2).shape.channels = 3; }},
  });
}

Tensor& slopes(Graph& graph) { return std::get<PRelu>(graph.layers[0].operation).slopes; }

TEST(OperationChecks, RefuseBrokenPRelus) {
  Graph valid;
  valid.input_value() = value_of({1, 6, 6, 4});
  append(valid, "prelu", PRelu{Tensor(DType::kFloat32, {4})}, value_of({1, 6, 6, 4}, 0.3F));
  EXPECT_EQ(refusal(valid), "");
  EXPECT_EQ(refusal(without_tensors(valid)), "");
  testing::expect_refusals<Graph>(
      valid, {{"layer 'prelu': slopes have shape [3]; expected [1] or [4]",
               [](Graph& g) { slopes(g) = Tensor(DType::kFloat32, {3}); }},
              {"layer 'prelu': slopes is int8 [4]; expected float32 [4]",
               [](Graph& g) { slopes(g) = Tensor(DType::kInt8, {4}); }},
              {"layer 'prelu': slopes has inf at index 2; expected finite numbers",
               [](Graph& g) { slopes(g).as<float>()[2] = std::numeric_limits<float>::infinity(); }},
              {"layer 'prelu': output shape [1, 6, 5, 4]; expected [1, 6, 6, 4]",
               [](Graph& g) { g.output_value().shape.width = 5; }},
              {"layer 'prelu': a tensor that it reads or writes has no scale",
               [](Graph& g) { g.input_value().scale = std::nullopt; }},
              {"layer 'prelu': a tensor that it reads or writes has no scale",
               [](Graph& g) { g.output_value().scale = std::nullopt; }}});
}

}  // namespace
}  // namespace qsim
