// Kernels longer than a command's fields run tap by tap, and max-pools larger than POST's as
// chains: golden's bytes.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/machine/isa/commands.h"
#include "core/network/graph_cleanup.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;

Window random_window(Random& random, std::int64_t least, std::int64_t most, std::int64_t stride) {
  Window w;
  w.kernel_h = random.uniform(1, most);
  w.kernel_w = random.uniform(w.kernel_h < least ? least : 1, most);
  w.stride_h = random.uniform(1, stride);
  w.stride_w = random.uniform(1, stride);
  w.pad_top = random.uniform(0, w.kernel_h - 1);
  w.pad_bottom = random.uniform(0, w.kernel_h - 1);
  w.pad_left = random.uniform(0, w.kernel_w - 1);
  w.pad_right = random.uniform(0, w.kernel_w - 1);
  return w;
}

Value around(Random& random, const Window& window) {
  const auto size = [&](std::int64_t kernel, std::int64_t pads) {
    return std::max<std::int64_t>(1, kernel - pads) + random.uniform(0, 9);
  };
  return picture(random.uniform(1, 2), size(window.kernel_h, window.pad_top + window.pad_bottom),
                 size(window.kernel_w, window.pad_left + window.pad_right), random.uniform(1, 9));
}

void expect_goldens_bytes(const Graph& graph, const Graph& original, const Tensor& input,
                          std::uint64_t seed) {
  const Program program = compile(graph, seed % 2 == 0 ? small_arch(4, 8) : small_arch(8, 4));
  const Tensor golden = golden::run_graph(original, input).back();
  for (const bool random_order : {false, true}) {
    const auto engine = make_program_interpreter(random_order);
    EXPECT_EQ(engine->run(program, input, {.seed = seed}).ofmaps.back(), golden);
  }
}

TEST(LargeWindows, ConvolutionsRunTapByTap) {
  for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Window window = random_window(random, 16, 30, 3);
    GraphBuilder builder(seed, around(random, window));
    builder.conv(random.uniform(1, 9), window);
    const Graph graph = builder.build();
    expect_goldens_bytes(graph, graph, builder.random_input(), seed);
  }
}

TEST(LargeWindows, MaxPoolsAreChainsOfSmallerOnes) {
  std::size_t longest = 0;
  for (std::uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Window window = random_window(random, kMostPoolWindow + 1, kMostCutPool, 4);
    GraphBuilder builder(seed, around(random, window));
    builder.conv(random.uniform(1, 9), testing::window(1))
        .max_pool(window)
        .conv(3, testing::window(1));
    const Graph original = builder.build();
    const Graph graph = with_small_max_pools(original, kMostPoolWindow);
    longest = std::max(longest, graph.layers.size());
    EXPECT_EQ(graph.layers[graph.layers.size() - 2].name, original.layers[1].name);
    expect_goldens_bytes(graph, original, builder.random_input(), seed);
  }
  EXPECT_EQ(longest, 7U) << "a chain of five pools is the longest";
}

// Strides with factors, and windows of the whole picture.
TEST(LargeWindows, MaxPoolsOfLargeStridesAreChainsToo) {
  constexpr std::int64_t kStrides[] = {1, 3, 4, 6, 8, 9, 12, 16};
  std::size_t cut = 0;
  for (std::uint64_t seed = 1; seed <= 120 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Window window = random_window(random, 5, kMostCutPool, 1);
    window.stride_h = kStrides[random.uniform(0, 7)];
    window.stride_w = kStrides[random.uniform(0, 7)];
    Value value = around(random, window);
    if (random.uniform(0, 2) == 0) {  // the whole picture
      window.kernel_h = random.uniform(5, 40);
      value.shape.height = window.kernel_h;
      window.pad_top = random.uniform(0, 4);
      window.pad_bottom = 0;
      window.kernel_h += window.pad_top;
    }
    GraphBuilder builder(seed, value);
    builder.conv(random.uniform(1, 9), testing::window(1))
        .max_pool(window)
        .conv(3, testing::window(1));
    const Graph original = builder.build();
    const Graph graph = with_small_max_pools(original, kMostPoolWindow);
    if (graph.layers.size() == original.layers.size()) continue;  // an axis stays as it is
    ++cut;
    expect_goldens_bytes(graph, original, builder.random_input(), seed);
  }
  EXPECT_GT(cut, 60U);
}

TEST(LargeWindows, AStrideIsCutIntoItsFactors) {
  const auto layers_of = [](const Window& window, std::int64_t size) {
    const Graph graph = GraphBuilder(1, picture(1, size, size, 2)).max_pool(window).build();
    return with_small_max_pools(graph, kMostPoolWindow).layers.size();
  };
  const auto square = [](std::int64_t kernel, std::int64_t stride) {
    return Window{.kernel_h = kernel, .kernel_w = kernel, .stride_h = stride, .stride_w = stride};
  };
  EXPECT_EQ(layers_of(square(16, 16), 64), 2U);
  EXPECT_EQ(layers_of(square(9, 9), 64), 2U);
  EXPECT_EQ(layers_of(square(56, 1), 56), 4U) << "56 is 4 x 14, 14 is 6 and then 3 of stride 4";
  EXPECT_EQ(layers_of(square(5, 5), 64), 1U) << "5 has no factor up to 4";
  EXPECT_EQ(layers_of(square(2, 8), 64), 1U) << "the windows leave out positions";
}

TEST(LargeWindows, OtherGraphsStayAsTheyAre) {
  const auto layers_of = [](const Window& window) {
    const Graph graph = GraphBuilder(1, picture(1, 40, 40, 2)).max_pool(window).build();
    return with_small_max_pools(graph, kMostPoolWindow).layers.size();
  };
  EXPECT_EQ(layers_of({4, 4}), 1U);
  EXPECT_EQ(layers_of({kMostCutPool, 1}), 5U);
  EXPECT_EQ(layers_of({kMostCutPool + 1, 1}), 1U);
  Window dilated = {5, 5};
  dilated.dilation_h = 2;
  EXPECT_EQ(layers_of(dilated), 1U);
}

}  // namespace
}  // namespace qsim
