// The plain loops of groups, dilation, wide weights, requantizers, average pool, addition,
// concatenation, lookup table and PRelu against results worked out by hand.
#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"

namespace qsim::golden {
namespace {

Tensor int8(Shape shape, const std::vector<std::int8_t>& values) {
  return make_tensor<std::int8_t>(std::move(shape), values);
}
Tensor uint8(Shape shape, const std::vector<std::uint8_t>& values) {
  return make_tensor<std::uint8_t>(std::move(shape), values);
}
Tensor int16(Shape shape, const std::vector<std::int16_t>& values) {
  return make_tensor<std::int16_t>(std::move(shape), values);
}
Tensor int32(const std::vector<std::int32_t>& values) {
  return make_tensor<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}

Value value(ImageShape shape, DType dtype, std::int32_t zero_point, float scale = 1.0F) {
  return {shape, dtype, zero_point, Scale::of(scale)};
}

// One layer that reads the input, as often as it has operands.
Tensor run_plain(const Value& input_value, const Operation& operation, const Value& output_value,
                 const Tensor& input, std::size_t operands = 1) {
  Graph graph;
  graph.name = "by hand";
  graph.input_value() = input_value;
  append(graph, "layer", operation, std::vector<TensorId>(operands, graph.input), output_value);
  return run_graph(graph, input, Path::kPlain).at(0);
}

Requantization exact(RoundingMode rounding = RoundingMode::kFloor) {
  return {rounding, {0}, -128, 127};
}

TEST(ReferenceConv2d, EachGroupReadsItsOwnChannelsAlone) {
  // Channels 0, 1 to outputs 0, 1; channels 2, 3 to outputs 2, 3.
  const Conv2d conv{
      {}, int8({4, 1, 1, 2}, {1, 2, 3, 4, 5, 6, 7, -8}), int32({0, 0, 0, 100}), exact(), 2};
  const Value pixel = value({1, 1, 1, 4}, DType::kInt8, 0);
  EXPECT_EQ(run_plain(pixel, conv, pixel, int8({1, 1, 1, 4}, {1, 10, 2, 5})),
            int8({1, 1, 1, 4}, {21, 43, 40, 100 + 14 - 40}));
}

TEST(ReferenceConv2d, DepthwiseTakesOneKernelForEachChannel) {
  // Two kernels of 1 x 2 over three columns; zero_point 1 on the left pad.
  const Conv2d conv{
      {1, 2, 1, 1, 0, 1, 0, 0}, int8({2, 1, 2, 1}, {1, 10, -1, 2}), int32({0, 0}), exact(), 2};
  EXPECT_EQ(run_plain(value({1, 1, 3, 2}, DType::kInt8, 1), conv,
                      value({1, 1, 3, 2}, DType::kInt8, 0), int8({1, 1, 3, 2}, {2, 3, 4, 5, 6, 7})),
            // channel 0: 1 3 5 less the zero_point; channel 1: 2 4 6
            int8({1, 1, 3, 2}, {10, 4, 31, 6, 53, 8}));
}

TEST(ReferenceConv2d, DilationSpreadsTheKernel) {
  // Kernel 1 -1 / 2 3 with rows 2 and columns 3 apart.
  const Conv2d conv{
      {2, 2, 1, 1, 0, 0, 0, 0, 2, 3}, int8({1, 2, 2, 1}, {1, -1, 2, 3}), int32({0}), exact()};
  EXPECT_EQ(
      run_plain(value({1, 3, 5, 1}, DType::kInt8, 0), conv, value({1, 1, 2, 1}, DType::kInt8, 0),
                int8({1, 3, 5, 1}, {1, 2, 3, 4, 5, 90, 90, 90, 90, 90, 6, 7, 8, 9, 10})),
      int8({1, 1, 2, 1}, {1 - 4 + 12 + 27, 2 - 5 + 14 + 30}));
}

TEST(ReferenceConv2d, WideWeightsHaveNineBits) {
  const Tensor weights = int16({1, 1, 1, 2}, {255, -255});
  const Conv2d conv{{}, weights, int32({0}), {RoundingMode::kFloor, {2}, -128, 127}};
  EXPECT_EQ(run_plain(value({1, 1, 2, 2}, DType::kUint8, 0), conv,
                      value({1, 1, 2, 1}, DType::kInt8, 0), uint8({1, 1, 2, 2}, {2, 1, 0, 1})),
            int8({1, 1, 2, 1}, {63, -64}));
  const FullyConnected fc{int16({1, 2}, {-255, 254}), int32({1}), exact()};
  EXPECT_EQ(run_plain(value({1, 1, 1, 2}, DType::kUint8, 2), fc,
                      value({1, 1, 1, 1}, DType::kInt8, 0), uint8({1, 1, 1, 2}, {1, 1})),
            int8({1, 1, 1, 1}, {2}));
}

// The scale 0.3 on psums 5, 15, -5: 1.5, 4.5 and -1.5 but for 0.3's own error, which is above.
TEST(ReferenceConv2d, RequantizersRoundAsTheySay) {
  const auto with = [](RequantizerRounding rounding) {
    Conv2d conv{{}, int8({1, 1, 1, 1}, {5}), int32({0}), {}};
    conv.requantization.requantizers = {requantizer_of(*Scale::of(0.3F), rounding)};
    return run_plain(value({1, 1, 3, 1}, DType::kInt8, 0), conv,
                     value({1, 1, 3, 1}, DType::kInt8, 10), int8({1, 1, 3, 1}, {1, 3, -1}));
  };
  const Shape shape{1, 1, 3, 1};
  EXPECT_EQ(with(RequantizerRounding::kFloor), int8(shape, {11, 14, 8}));
  EXPECT_EQ(with(RequantizerRounding::kHalfUp), int8(shape, {12, 15, 8}));
  EXPECT_EQ(with(RequantizerRounding::kHalfEven), int8(shape, {12, 15, 8}));
  // In float32 the products are the ties themselves.
  EXPECT_EQ(with(RequantizerRounding::kFloat32), int8(shape, {12, 14, 8}));
}

TEST(ReferenceFullyConnected, TakesItsOwnRequantizerForEachOutput) {
  FullyConnected fc{int8({2, 1}, {10, 10}), int32({0, 5}), {}};
  fc.requantization.requantizers = {
      requantizer_of(*Scale::of(0.7F), RequantizerRounding::kFloat32),
      requantizer_of(*Scale::of(0.1F), RequantizerRounding::kFloat32)};
  fc.requantization.hi = 20;
  EXPECT_EQ(run_plain(value({1, 1, 1, 1}, DType::kInt8, 0), fc,
                      value({1, 1, 1, 2}, DType::kInt8, -1), int8({1, 1, 1, 1}, {4})),
            int8({1, 1, 1, 2}, {20, 3}));
}

TEST(ReferenceMaxPool, DilationSpreadsTheWindow) {
  EXPECT_EQ(
      run_plain(value({1, 1, 5, 1}, DType::kInt8, 0), MaxPool{{1, 2, 1, 1, 0, 0, 0, 0, 1, 3}},
                value({1, 1, 2, 1}, DType::kInt8, 0), int8({1, 1, 5, 1}, {-5, -9, 1, -7, -8})),
      int8({1, 1, 2, 1}, {-5, -8}));
}

// 2 x 2 windows over 1 2 / 3 5 with one pad all around: corners have one position, edges two.
TEST(ReferenceAveragePool, CountsThePositionsInsideOrThePadsToo) {
  AveragePool pool{.window = {2, 2, 1, 1, 1, 1, 1, 1}, .lo = 0, .hi = 255};
  const Value input = value({1, 2, 2, 1}, DType::kUint8, 1, 1.0F);
  const Value output = value({1, 3, 3, 1}, DType::kUint8, 2, 0.5F);
  // Less the zero_point: 0 1 / 2 4, doubled by the scales.
  const Tensor picture = uint8({1, 2, 2, 1}, {1, 2, 3, 5});
  EXPECT_EQ(run_plain(input, pool, output, picture),
            uint8({1, 3, 3, 1}, {2, 3, 4, 4, 6, 7, 6, 8, 10}));
  // A quarter each: 0, 0.5, 0.5, 1, 3.5, 2.5, 1, 3, 2, to even.
  pool.count_include_pad = true;
  EXPECT_EQ(run_plain(input, pool, output, picture),
            uint8({1, 3, 3, 1}, {2, 2, 2, 3, 6, 4, 3, 5, 4}));
}

TEST(ReferenceAveragePool, AWindowAsLargeAsThePictureIsGlobal) {
  const AveragePool pool{.window = {2, 3, 1, 1}, .hi = 3};
  EXPECT_EQ(run_plain(value({1, 2, 3, 2}, DType::kInt8, 0, 0.6F), pool,
                      value({1, 1, 1, 2}, DType::kInt8, 0, 0.1F),
                      int8({1, 2, 3, 2}, {1, 9, 0, 9, 0, 9, 0, 9, 0, 9, -3, 9})),
            int8({1, 1, 1, 2}, {-2, 3}));
}

TEST(ReferenceAdd, AddsTwoTensorsWithTheirOwnScales) {
  Graph graph;
  graph.name = "by hand";
  graph.input_value() = value({1, 1, 4, 1}, DType::kInt8, 1, 0.5F);
  const TensorId halves =
      append(graph, "table", LookupTable{"identity"}, value({1, 1, 4, 1}, DType::kUint8, 3, 0.25F));
  auto& table = std::get<LookupTable>(graph.layers[0].operation).bytes;
  table[1] = 3, table[2] = 5, table[3] = 7, table[0xFF] = 255;
  append(graph, "add", Add{.lo = -100, .hi = 60}, {graph.input, halves},
         value({1, 1, 4, 1}, DType::kInt8, -7, 1.0F));
  const std::vector<Tensor> outputs =
      run_graph(graph, int8({1, 1, 4, 1}, {1, 2, 3, -1}), Path::kPlain);
  EXPECT_EQ(outputs[0], uint8({1, 1, 4, 1}, {3, 5, 7, 255}));
  // 0 + 0; 0.5 + 0.5; 1 + 1; -1 + 63
  EXPECT_EQ(outputs[1], int8({1, 1, 4, 1}, {-7, -6, -5, 55}));
}

// 1.5 and an odd zero_point: float32 rounds after it is added, the others before.
TEST(ReferenceAdd, RoundsAfterOrBeforeTheZeroPointIsAdded) {
  const Value input = value({1, 1, 2, 1}, DType::kInt8, 0, 0.25F);
  const Value output = value({1, 1, 2, 1}, DType::kInt8, 1, 1.0F);
  const Tensor levels = int8({1, 1, 2, 1}, {1, 3});
  const auto with = [&](RequantizerRounding rounding) {
    return run_plain(input, Add{.rounding = rounding}, output, levels, 2);
  };
  const Shape shape{1, 1, 2, 1};
  EXPECT_EQ(with(RequantizerRounding::kFloat32), int8(shape, {2, 2}));
  EXPECT_EQ(with(RequantizerRounding::kHalfEven), int8(shape, {1, 3}));
  EXPECT_EQ(with(RequantizerRounding::kHalfUp), int8(shape, {2, 3}));
  EXPECT_EQ(with(RequantizerRounding::kFloor), int8(shape, {1, 2}));
}

TEST(ReferenceConcat, PutsTheChannelsOfItsOperandsOneAfterTheOther) {
  Graph graph;
  graph.name = "by hand";
  graph.input_value() = value({1, 1, 2, 2}, DType::kInt8, 0);
  const Conv2d sum{{}, int8({1, 1, 1, 2}, {1, 1}), int32({0}), exact()};
  const TensorId sums = append(graph, "conv", sum, value({1, 1, 2, 1}, DType::kInt8, 0));
  append(graph, "concat", Concat{}, {graph.input, sums, graph.input},
         value({1, 1, 2, 5}, DType::kInt8, 0));
  EXPECT_EQ(run_graph(graph, int8({1, 1, 2, 2}, {1, 2, 30, 40}), Path::kPlain)[1],
            int8({1, 1, 2, 5}, {1, 2, 3, 1, 2, 30, 40, 70, 30, 40}));
}

TEST(ReferenceLookupTable, TakesTheEntryOfEachByte) {
  LookupTable table{"by hand"};
  table.bytes[0] = 7, table.bytes[1] = 8, table.bytes[0x80] = 0x81, table.bytes[0xFF] = 9;
  EXPECT_EQ(run_plain(value({1, 1, 4, 1}, DType::kInt8, 0), table,
                      value({1, 1, 4, 1}, DType::kInt8, 5), int8({1, 1, 4, 1}, {0, 1, -128, -1})),
            int8({1, 1, 4, 1}, {7, 8, -127, 9}));
}

PRelu slopes(const std::vector<float>& numbers) {
  return {make_tensor<float>({static_cast<std::int64_t>(numbers.size())}, numbers)};
}

// Channel 0 halves what is below zero, channel 1 turns it round. Of level 5: 2.0 and 18 levels.
TEST(ReferencePRelu, TakesTheSlopeOfEachChannelBelowZero) {
  EXPECT_EQ(run_plain(value({1, 1, 4, 2}, DType::kInt8, 1, 0.5F), slopes({0.5F, -1.0F}),
                      value({1, 1, 4, 2}, DType::kUint8, 10, 0.25F),
                      int8({1, 1, 4, 2}, {5, 5, -3, -3, 0, 0, -128, -128})),
            uint8({1, 1, 4, 2}, {18, 18, 6, 18, 9, 12, 0, 255}));
}

// -0.5, -1.5, -2.5: to even. 3 stays 3.
TEST(ReferencePRelu, OneSlopeIsThatOfAllChannelsAndTiesGoToEven) {
  const Value same = value({1, 1, 2, 2}, DType::kInt8, 0);
  EXPECT_EQ(run_plain(same, slopes({0.5F}), same, int8({1, 1, 2, 2}, {-1, -3, -5, 3})),
            int8({1, 1, 2, 2}, {0, -2, -2, 3}));
}

}  // namespace
}  // namespace qsim::golden
