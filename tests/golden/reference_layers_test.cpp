// The plain loops against results worked out by hand, so that they hang on something other than
// themselves.
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
Tensor int32(const std::vector<std::int32_t>& values) {
  return make_tensor<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}

Value value(ImageShape shape, DType dtype, std::int32_t zero_point) {
  Value result;
  result.shape = shape;
  result.dtype = dtype;
  result.zero_point = zero_point;
  return result;
}

Tensor run_plain(const Value& input_value, const Operation& operation, const Value& output_value,
                 const Tensor& input) {
  Graph graph;
  graph.name = "by hand";
  graph.input_value() = input_value;
  append(graph, "layer", operation, output_value);
  return run_graph(graph, input, Path::kPlain).at(0);
}

// Differences to the zero point 1 are 0 1 / 2 3, the kernel is 1 -1 / 2 3, one column of padding
// is on the left: psums 2*3 = 6 and -1 + 2*2 + 3*3 = 12; with the bias 11 and 17.
Tensor padded_convolution(RoundingMode rounding) {
  const Conv2d conv{{2, 2, 1, 1, 0, 1, 0, 0},
                    int8({1, 2, 2, 1}, {1, -1, 2, 3}),
                    int32({5}),
                    {rounding, {1}, 0, 255}};
  return run_plain(value({1, 2, 2, 1}, DType::kInt8, 1), conv,
                   value({1, 1, 2, 1}, DType::kUint8, 3), int8({1, 2, 2, 1}, {1, 2, 3, 4}));
}

TEST(ReferenceConv2d, PadsWithTheZeroPointAndRoundsByTheLayersMode) {
  const Shape shape{1, 1, 2, 1};
  EXPECT_EQ(padded_convolution(RoundingMode::kFloor), uint8(shape, {5 + 3, 8 + 3}));
  EXPECT_EQ(padded_convolution(RoundingMode::kHalfEven), uint8(shape, {6 + 3, 8 + 3}));
  EXPECT_EQ(padded_convolution(RoundingMode::kHalfUp), uint8(shape, {6 + 3, 9 + 3}));
  EXPECT_EQ(padded_convolution(RoundingMode::kHalfAway), uint8(shape, {6 + 3, 9 + 3}));
  EXPECT_EQ(padded_convolution(RoundingMode::kTowardZero), uint8(shape, {5 + 3, 8 + 3}));
}

TEST(ReferenceConv2d, TakesItsOwnShiftForEveryOutputChannel) {
  // 3*1 + 5*10 = 53; 3*100 - 5*7 = 265, and 265 / 4 rounds down to 66.
  const Conv2d conv{{},
                    int8({2, 1, 1, 2}, {1, 10, 100, -7}),
                    int32({0, 0}),
                    {RoundingMode::kFloor, {0, 2}, -128, 127}};
  const Tensor output = run_plain(value({1, 1, 1, 2}, DType::kInt8, 0), conv,
                                  value({1, 1, 1, 2}, DType::kInt8, 0), int8({1, 1, 1, 2}, {3, 5}));
  EXPECT_EQ(output, int8({1, 1, 1, 2}, {53, 66}));
}

TEST(ReferenceConv2d, StepsByTheStrideOfEachAxis) {
  // A 1x1 kernel of weight 2 with strides 2 and 3 picks columns 0 and 3 of rows 0 and 2.
  const Conv2d conv{{1, 1, 2, 3, 0, 0, 0, 0},
                    int8({1, 1, 1, 1}, {2}),
                    int32({0}),
                    {RoundingMode::kFloor, {0}, 0, 255}};
  const Tensor output =
      run_plain(value({1, 3, 4, 1}, DType::kUint8, 0), conv, value({1, 2, 2, 1}, DType::kUint8, 0),
                uint8({1, 3, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(output, uint8({1, 2, 2, 1}, {2, 8, 18, 24}));
}

TEST(ReferenceFullyConnected, MultipliesEveryPictureWithEveryRowOfWeights) {
  const FullyConnected fc{int8({2, 3}, {1, 0, -1, 2, 2, 2}),
                          int32({10, -1}),
                          {RoundingMode::kHalfEven, {0}, -128, 127}};
  const Tensor output =
      run_plain(value({2, 1, 1, 3}, DType::kUint8, 0), fc, value({2, 1, 1, 2}, DType::kInt8, 0),
                uint8({2, 1, 1, 3}, {1, 2, 3, 4, 5, 9}));
  EXPECT_EQ(output, int8({2, 1, 1, 2}, {8, 11, 5, 35}));
}

TEST(ReferenceFullyConnected, WrapsTheAccumulatorAtThirtyTwoBits) {
  // 70000 * 255 * -128 = -2284800000, which wraps to 2010167296; / 2^24 rounds down to 119.
  constexpr std::int64_t kDepth = 70000;
  const FullyConnected fc{int8({1, kDepth}, std::vector<std::int8_t>(kDepth, -128)),
                          int32({0}),
                          {RoundingMode::kFloor, {24}, -128, 127}};
  const Tensor output = run_plain(value({1, 1, 1, kDepth}, DType::kUint8, 0), fc,
                                  value({1, 1, 1, 1}, DType::kInt8, 0),
                                  uint8({1, 1, 1, kDepth}, std::vector<std::uint8_t>(kDepth, 255)));
  EXPECT_EQ(output, int8({1, 1, 1, 1}, {119}));
}

TEST(ReferenceMaxPool, SkipsAbsentPositionsUnderWindowsThatHangOver) {
  // All values are negative, so that a zero from outside would win. ceil_mode: 2 windows, not 1.
  const Tensor output = run_plain(value({1, 3, 3, 1}, DType::kInt8, 5), MaxPool{{2, 2, 2, 2}},
                                  value({1, 2, 2, 1}, DType::kInt8, 5),
                                  int8({1, 3, 3, 1}, {-9, -8, -7, -6, -5, -4, -3, -2, -1}));
  EXPECT_EQ(output, int8({1, 2, 2, 1}, {-5, -4, -2, -1}));
}

TEST(ReferenceMaxPool, SkipsPadding) {
  const Tensor output =
      run_plain(value({1, 2, 3, 1}, DType::kInt8, 0), MaxPool{{2, 3, 1, 2, 1, 1, 0, 1}},
                value({1, 2, 2, 1}, DType::kInt8, 0), int8({1, 2, 3, 1}, {-6, -5, -4, -3, -2, -7}));
  EXPECT_EQ(output, int8({1, 2, 2, 1}, {-5, -4, -2, -2}));
}

TEST(ReferenceMaxPool, RefusesAWindowThatWouldStartInTheTrailingPad) {
  // Rounding (2 + 1 + 1 - 2) / 3 up gives two windows, but the second starts at position 2, after
  // the picture: ONNX drops it.
  EXPECT_EQ(window_count(2, 2, 3, 1, 1, true), 1);
  const MaxPool pool{{2, 2, 3, 3, 1, 1, 1, 1}};
  const Tensor input = int8({1, 2, 2, 1}, {-1, -2, -3, -4});
  EXPECT_EQ(run_plain(value({1, 2, 2, 1}, DType::kInt8, 0), pool,
                      value({1, 1, 1, 1}, DType::kInt8, 0), input),
            int8({1, 1, 1, 1}, {-1}));
  EXPECT_THROW(run_plain(value({1, 2, 2, 1}, DType::kInt8, 0), pool,
                         value({1, 2, 2, 1}, DType::kInt8, 0), input),
               Error);
}

TEST(ReferenceRelu, CutsAtTheZeroPoint) {
  const Value quantized = value({1, 1, 1, 3}, DType::kUint8, 128);
  EXPECT_EQ(run_plain(quantized, Relu{}, quantized, uint8({1, 1, 1, 3}, {100, 128, 200})),
            uint8({1, 1, 1, 3}, {128, 128, 200}));
}

TEST(ReferenceFlatten, OrdersChannelsFirstOrLastAsTheLayerSays) {
  const Value picture = value({1, 1, 2, 3}, DType::kUint8, 0);
  const Value flat = value({1, 1, 1, 6}, DType::kUint8, 0);
  const Tensor input = uint8({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run_plain(picture, Flatten{Flatten::Order::kChw}, flat, input),
            uint8({1, 1, 1, 6}, {1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run_plain(picture, Flatten{Flatten::Order::kHwc}, flat, input),
            uint8({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace qsim::golden
