// The optimised path against the plain loops, on random layers, for every instruction set that
// this processor has.
#include <algorithm>
#include <bit>
#include <utility>

#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"
#include "tests/golden/random_dag.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden {
namespace {

using golden_test::random_tensor;

class OptimisedLayers : public testing::TestWithParam<VectorPath> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) {
      GTEST_SKIP() << "skipped: this processor has no " << vector_path_name(GetParam());
    }
  }

  // Runs `make_graph` for `count` seeds on both paths.
  void compare(Graph (*make_graph)(Random&), std::uint64_t first_seed, std::uint64_t count) {
    for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed);
      const Graph graph = make_graph(random);
      compare(graph,
              random_tensor(random, graph.input_value().dtype, graph.input_value().shape.nhwc()));
      if (HasFailure()) return;
    }
    // A comparison of constants would prove nothing.
    EXPECT_GT(varied_, count / 2);
  }

  void compare(const Graph& graph, const Tensor& input) {
    const std::vector<Tensor> expected = run_graph(graph, input, Path::kPlain);
    const std::vector<Tensor> found =
        run_graph(graph, input, ExecutorOptions{.vector_path = GetParam()});
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(found[i].dtype, expected[i].dtype);
      ASSERT_EQ(found[i].shape, expected[i].shape);
      ASSERT_EQ(found[i].bytes, expected[i].bytes) << graph.layers[i].name;
    }
    const auto& bytes = expected.back().bytes;
    const auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
    varied_ += *low != *high ? 1 : 0;
  }

 private:
  std::uint64_t varied_ = 0;  // results that were not one constant
};

TEST_P(OptimisedLayers, Conv2dEqualsThePlainLoops) {
  compare(golden_test::random_conv2d, 1000, 150);
}

TEST_P(OptimisedLayers, FullyConnectedEqualsThePlainLoops) {
  compare(golden_test::random_fully_connected, 2000, 150);
}

TEST_P(OptimisedLayers, MaxPoolEqualsThePlainLoops) {
  compare(golden_test::random_max_pool, 3000, 150);
}

TEST_P(OptimisedLayers, ReluEqualsThePlainLoops) { compare(golden_test::random_relu, 4000, 60); }

TEST_P(OptimisedLayers, FlattenEqualsThePlainLoops) {
  compare(golden_test::random_flatten, 5000, 60);
}

TEST_P(OptimisedLayers, AChainOfAllLayersEqualsThePlainLoopsAtEveryLayer) {
  compare(golden_test::random_chain, 6000, 8);
}

TEST_P(OptimisedLayers, GroupsDilationWideWeightsAndRequantizersEqualThePlainLoops) {
  compare(golden_test::random_grouped_conv2d, 7000, 300);
}

TEST_P(OptimisedLayers, FullyConnectedWithRequantizersEqualsThePlainLoops) {
  compare(golden_test::random_scaled_fully_connected, 8000, 150);
}

TEST_P(OptimisedLayers, DilatedMaxPoolEqualsThePlainLoops) {
  compare(golden_test::random_dilated_max_pool, 9000, 100);
}

TEST_P(OptimisedLayers, AveragePoolEqualsThePlainLoops) {
  compare(golden_test::random_average_pool, 10000, 200);
}

TEST_P(OptimisedLayers, AddEqualsThePlainLoops) { compare(golden_test::random_add, 11000, 200); }

TEST_P(OptimisedLayers, ConcatAndLookupTableEqualThePlainLoops) {
  compare(golden_test::random_concat, 12000, 60);
}

TEST_P(OptimisedLayers, PReluEqualsThePlainLoops) {
  compare(golden_test::random_prelu, 13000, 200);
}

Graph any_dag(Random& random) {
  golden_test::DagOptions options;
  options.operations.prelu = true;
  options.operations.add_tflite_roundings();
  return golden_test::random_dag(random, options);
}

TEST_P(OptimisedLayers, GraphsWithBranchesEqualThePlainLoopsAtEveryLayer) {
  compare(any_dag, 100000, 150);
}

// A 1x1 convolution so deep that every psum leaves int32 by far, in one direction or the other.
TEST_P(OptimisedLayers, AccumulatorsWrapAtThirtyTwoBits) {
  constexpr std::int64_t kDepth = 70001;
  Random random(7);
  Graph graph;
  graph.name = "wrap";
  graph.input_value().shape = {1, 2, 2, kDepth};
  graph.input_value().dtype = DType::kUint8;
  Value output;
  output.shape = {1, 2, 2, 3};
  Conv2d conv{{},
              Tensor(DType::kInt8, {3, 1, 1, kDepth}),
              Tensor(DType::kInt32, {3}),
              {RoundingMode::kHalfEven, {25}, -128, 127}};
  for (std::int8_t& w : conv.weights.as<std::int8_t>()) {
    w = static_cast<std::int8_t>(random.uniform(-128, -120));
  }
  append(graph, "deep", std::move(conv), output);
  Tensor input(DType::kUint8, graph.input_value().shape.nhwc());
  for (std::uint8_t& x : input.as<std::uint8_t>()) {
    x = static_cast<std::uint8_t>(random.uniform(245, 255));
  }
  compare(graph, input);
  const std::vector<Tensor> outputs = run_graph(graph, input, Path::kPlain);
  // Without wrapping all would be negative.
  for (const std::int8_t q : outputs[0].as<std::int8_t>()) EXPECT_GT(q, 0);
}

// One output channel with weights 127 or -127, so that the psum of bytes 255 is 255 * kMagnitude
// in the direction of `sign`.
constexpr std::int64_t kMagnitude = 4 * 127;

Graph saturated_dot(int sign, std::int64_t bias, int shift) {
  Graph graph;
  graph.name = "limit";
  graph.input_value().shape = {1, 1, 1, 4};
  graph.input_value().dtype = DType::kUint8;
  Value output;
  output.zero_point = 100;
  Conv2d conv{{},
              Tensor(DType::kInt8, {1, 1, 1, 4}),
              Tensor(DType::kInt32, {1}),
              {RoundingMode::kHalfUp, {static_cast<std::uint8_t>(shift)}, -128, 127}};
  for (std::int8_t& w : conv.weights.as<std::int8_t>()) w = static_cast<std::int8_t>(127 * sign);
  conv.bias.as<std::int32_t>()[0] = static_cast<std::int32_t>(sign * bias);
  append(graph, "conv", std::move(conv), output);
  return graph;
}

// 32-bit epilogues are for layers whose sums fit. Biases on both sides of that line: a sum that
// wrapped would saturate at the wrong end.
TEST_P(OptimisedLayers, SumsThatCouldLeaveThirtyTwoBitsAreComputedInMore) {
  const std::vector<std::uint8_t> bytes(4, 255);
  const Tensor input = make_tensor<std::uint8_t>({1, 1, 1, 4}, bytes);
  for (const std::int64_t times : {0, 1, 2, 100, 200, 254, 255, 256}) {
    for (const std::int64_t spare : {0, 50}) {
      for (const int shift : {0, 1, 16, 30, 31}) {
        for (const int sign : {-1, 1}) {
          const std::int64_t bias = INT32_MAX - times * kMagnitude - spare;
          SCOPED_TRACE("bias " + std::to_string(sign * bias) + " shift " + std::to_string(shift));
          compare(saturated_dot(sign, bias, shift), input);
        }
      }
    }
  }
}

// Channel counts at, below and above the width of a panel, pixel counts around that of a tile.
TEST_P(OptimisedLayers, TilesAndPanelsOfEverySizeAreWhole) {
  for (const std::int64_t channels : {1, 15, 16, 17, 31, 32, 33, 64, 65}) {
    for (std::int64_t width = 1; width <= 31; ++width) {
      SCOPED_TRACE("channels " + std::to_string(channels) + " width " + std::to_string(width));
      Random random(static_cast<std::uint64_t>(channels * 100 + width));
      Graph graph;
      graph.name = "tile";
      graph.input_value().shape = {1, 1, width, 5};
      graph.input_value().zero_point = 3;
      Value output;
      output.shape = {1, 1, width, channels};
      append(graph, "conv",
             Conv2d{{},
                    random_tensor(random, DType::kInt8, {channels, 1, 1, 5}),
                    Tensor(DType::kInt32, {channels}),
                    {RoundingMode::kHalfEven, {8}, -128, 127}},
             output);
      compare(graph, random_tensor(random, DType::kInt8, graph.input_value().shape.nhwc()));
      if (HasFailure()) return;
    }
  }
}

// One layer with the largest products there are: each activation and each weight is an end of its
// range, and so is the zero_point.
template <typename Operation>
Graph extreme_layer(Random& random, const ImageShape& in, const ImageShape& out,
                    const Shape& weights) {
  Graph graph;
  graph.name = "extreme";
  graph.input_value().shape = in;
  graph.input_value().dtype = random.chance(0.5) ? DType::kUint8 : DType::kInt8;
  graph.input_value().zero_point =
      random.chance(0.5) ? graph.input_value().min() : graph.input_value().max();
  Value output;
  output.shape = out;
  Operation operation{};
  operation.weights = Tensor(DType::kInt8, weights);
  const double most_negative = random.chance(0.5) ? 0.5 : 0.98;
  for (std::int8_t& w : operation.weights.template as<std::int8_t>()) {
    w = random.chance(most_negative) ? -128 : 127;
  }
  operation.bias = Tensor(DType::kInt32, {out.channels});
  const std::int64_t depth = in.channels;
  const auto shift = 8 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(depth)));
  operation.requantization = {
      RoundingMode::kHalfEven, {static_cast<std::uint8_t>(shift)}, -128, 127};
  append(graph, "extreme", std::move(operation), output);
  return graph;
}

Tensor extreme_input(Random& random, const Value& value) {
  Tensor input(value.dtype, value.shape.nhwc());
  const double high = random.chance(0.5) ? 0.5 : 0.98;
  for (std::byte& byte : input.bytes) {
    byte = static_cast<std::byte>(random.chance(high) ? value.max() : value.min());
  }
  return input;
}

// Depths around a quad and around the slices that the kernels cut a tile into (384 and its
// multiples), where a row or a panel read from the wrong place would be another one's.
TEST_P(OptimisedLayers, ConvolutionsOfEveryDepthAreExactAtTheEndsOfTheRange) {
  for (const std::int64_t depth : {1,   2,   3,   4,   5,   7,   8,   63,  64,  65,  255, 256,
                                   380, 383, 384, 385, 387, 388, 389, 767, 768, 769, 1155}) {
    for (const auto& [width, channels] : {std::pair{1, 1}, {7, 33}, {13, 24}, {25, 9}}) {
      SCOPED_TRACE("depth " + std::to_string(depth) + " width " + std::to_string(width) +
                   " channels " + std::to_string(channels));
      Random random(static_cast<std::uint64_t>(depth * 1000 + width));
      const Graph graph = extreme_layer<Conv2d>(random, {1, 1, width, depth},
                                                {1, 1, width, channels}, {channels, 1, 1, depth});
      compare(graph, extreme_input(random, graph.input_value()));
      if (HasFailure()) return;
    }
  }
}

// Depths around every vector length, batches and channels around the rows that are taken at a time.
TEST_P(OptimisedLayers, DotProductsOfEveryDepthAreExactAtTheEndsOfTheRange) {
  for (std::int64_t depth = 1; depth <= 200; depth += depth < 70 ? 1 : 13) {
    for (std::int64_t batch = 1; batch <= 5; ++batch) {
      const std::int64_t channels = 1 + (depth + batch) % 6;
      SCOPED_TRACE("depth " + std::to_string(depth) + " batch " + std::to_string(batch) +
                   " channels " + std::to_string(channels));
      Random random(static_cast<std::uint64_t>(depth * 10 + batch));
      const Graph graph = extreme_layer<FullyConnected>(random, {batch, 1, 1, depth},
                                                        {batch, 1, 1, channels}, {channels, depth});
      compare(graph, extreme_input(random, graph.input_value()));
      if (HasFailure()) return;
    }
  }
}

std::string test_name(const testing::TestParamInfo<VectorPath>& info) {
  return std::string(vector_path_name(info.param));
}

TEST_P(OptimisedLayers, TensorFlowLitesRoundingsEqualThePlainLoops) {
  compare(
      [](Random& random) {
        golden_test::DagOptions options;
        options.operations.roundings.clear();
        options.operations.add_tflite_roundings();
        options.operations.shifts = false;
        return golden_test::random_dag(random, options);
      },
      15000, 100);
}

INSTANTIATE_TEST_SUITE_P(Auto, OptimisedLayers, testing::Values(VectorPath::kAuto), test_name);
INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, OptimisedLayers, testing::ValuesIn(kVectorPaths),
                         test_name);

}  // namespace
}  // namespace qsim::golden
