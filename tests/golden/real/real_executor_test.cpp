// The optimised float executor equals the plain loops bit for bit, on every vector path, for any
// number of threads and pictures.
#include "golden/graph/real/real_executor.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/golden/real/random_real_graph.h"

namespace qsim::golden {
namespace {

std::vector<Tensor> every_tensor(const Graph& graph, const Tensor& input,
                                 const RealExecutorOptions& options, int threads) {
  const RealExecutor executor(graph, options);
  ThreadTeam team(threads);
  std::vector<Tensor> tensors;
  const Tensor output =
      executor.run(input, team, [&](TensorId, const Tensor& tensor) { tensors.push_back(tensor); });
  EXPECT_EQ(output, tensors.back());
  return tensors;
}

// Runs the graph on every path that this processor has, with one and with three threads.
void expect_paths_agree(const Graph& graph, const Tensor& input,
                        std::vector<std::optional<TensorRule>> rules = {}) {
  const std::vector<Tensor> plain = every_tensor(graph, input, {.plain = true, .rules = rules}, 1);
  ASSERT_EQ(plain.size(), graph.layers.size() + 1);
  for (const VectorPath path : kVectorPaths) {
    if (!is_available(path)) continue;
    for (const int threads : {1, 3}) {
      const std::vector<Tensor> fast =
          every_tensor(graph, input, {.vector_path = path, .rules = rules}, threads);
      ASSERT_EQ(fast.size(), plain.size());
      for (std::size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(fast[i], plain[i])
            << graph.name << ", " << vector_path_name(path) << ", " << threads
            << " threads: " << (i == 0 ? "input" : operation_name(graph.layers[i - 1].operation))
            << " " << i;
      }
    }
  }
}

Shape with_pictures(const ImageShape& shape, std::int64_t pictures) {
  return {pictures, shape.height, shape.width, shape.channels};
}

TEST(RealExecutor, EveryPathEqualsThePlainLoopsOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph = random_real_graph(seed);
    Random random(seed * 77);
    const Tensor input =
        random_floats(random, with_pictures(graph.input_shape(), random.uniform(1, 4)));
    expect_paths_agree(graph, input);
  }
}

TEST(RealExecutor, ADepthwiseKernelOfSeveralChunksAgrees) {
  for (const std::int64_t channels : {1, 7, 16, 70}) {
    Random random(6);
    Conv2d conv;
    conv.window = {.kernel_h = 17, .kernel_w = 31, .pad_top = 3, .pad_left = 5};
    conv.weights = random_floats(random, {channels, 17, 31, 1});
    conv.bias = random_floats(random, {channels});
    conv.groups = channels;
    const ImageShape input = {1, 16, 28, channels};
    const Graph graph = single_layer(input, conv, {1, 3, 3, channels});
    expect_paths_agree(graph, random_floats(random, input.nhwc()));
  }
}

TEST(RealExecutor, InfinitiesAndNansTakeTheSameBitsOnEveryPath) {
  for (std::uint64_t seed = 100; seed < 125; ++seed) {
    const Graph graph = random_real_graph(seed);
    Random random(seed);
    Tensor input = random_floats(random, with_pictures(graph.input_shape(), 2));
    const float odd[] = {
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::max()};
    for (float& value : input.as<float>()) {
      if (random.chance(0.02)) value = odd[random.uniform(0, 4)];
    }
    expect_paths_agree(graph, input);
  }
}

TEST(RealExecutor, RulesAreAppliedAlikeOnEveryPath) {
  for (std::uint64_t seed = 200; seed < 215; ++seed) {
    const Graph graph = random_real_graph(seed);
    Random random(seed);
    std::vector<std::optional<TensorRule>> rules(graph.tensors.size());
    for (std::optional<TensorRule>& rule : rules) {
      const std::int64_t kind = random.uniform(0, 4);
      if (kind == 1) rule = UniformRule{0.03F, 7, -128, 127};
      if (kind == 2) rule = DynamicRule{8, random.chance(0.5), random.chance(0.5)};
      if (kind == 3) rule = FloatRule{FloatRule::Format::kE4m3, 0.3F};
      if (kind == 4) rule = Log2Rule{0.7F, -6, 2};
    }
    expect_paths_agree(graph, random_floats(random, with_pictures(graph.input_shape(), 3)), rules);
  }
}

TEST(RealExecutor, APictureComesOutTheSameAloneAndInABatch) {
  const Graph graph = random_real_graph(5);
  Random random(5);
  const Tensor batch = random_floats(random, with_pictures(graph.input_shape(), 5));
  ThreadTeam team(2);
  const RealExecutor executor(graph);
  const Tensor together = executor.run(batch, team);
  const std::size_t in_bytes = batch.bytes.size() / 5;
  const std::size_t out_bytes = together.bytes.size() / 5;
  for (std::size_t n = 0; n < 5; ++n) {
    Tensor picture(DType::kFloat32, with_pictures(graph.input_shape(), 1));
    std::copy_n(batch.bytes.begin() + static_cast<std::ptrdiff_t>(n * in_bytes), in_bytes,
                picture.bytes.begin());
    const Tensor alone = executor.run(picture, team);
    EXPECT_TRUE(std::equal(alone.bytes.begin(), alone.bytes.end(),
                           together.bytes.begin() + static_cast<std::ptrdiff_t>(n * out_bytes)));
  }
}

// Below zero a slope of each channel; a zero keeps its sign.
TEST(RealExecutor, APReluTakesTheSlopeOfEachChannel) {
  const ImageShape shape = {1, 1, 3, 2};
  const PRelu prelu{make_tensor<float>({2}, std::vector<float>{0.5F, -2.0F})};
  const Graph graph = single_layer(shape, prelu, shape);
  const Tensor input =
      make_tensor<float>(shape.nhwc(), std::vector<float>{-1, -1, 3, 3, -0.0F, -0.0F});
  const Tensor expected =
      make_tensor<float>(shape.nhwc(), std::vector<float>{-0.5F, 2, 3, 3, -0.0F, -0.0F});
  EXPECT_EQ(every_tensor(graph, input, {.plain = true}, 1).back(), expected);
  expect_paths_agree(graph, input);
}

TEST(RealExecutor, TheInputOfACallerStaysAsItIs) {
  const ImageShape shape = {1, 2, 2, 3};
  const Graph graph = single_layer(shape, Activation{}, shape);
  Random random(3);
  const Tensor input = random_floats(random, shape.nhwc());
  const Tensor copy = input;
  ThreadTeam team;
  const Tensor output = RealExecutor(graph).run(input, team);
  EXPECT_EQ(input, copy);
  EXPECT_NE(output, copy);
}

TEST(RealExecutor, AnInputOfAnotherShapeIsRefused) {
  const ImageShape shape = {1, 2, 2, 3};
  const Graph graph = single_layer(shape, Activation{}, shape);
  ThreadTeam team;
  const RealExecutor executor(graph);
  EXPECT_THROW(executor.run(Tensor(DType::kFloat32, {1, 2, 3, 3}), team), Error);
  EXPECT_THROW(executor.run(Tensor(DType::kFloat32, {0, 2, 2, 3}), team), Error);
  EXPECT_THROW(executor.run(Tensor(DType::kInt8, {1, 2, 2, 3}), team), Error);
  EXPECT_NO_THROW(executor.run(Tensor(DType::kFloat32, {4, 2, 2, 3}), team));
}

}  // namespace
}  // namespace qsim::golden
