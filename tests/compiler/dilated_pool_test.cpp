// Dilated max-pools as strided copies of the picture under an undilated pool: the golden's bytes in
// every order of the units, and what is refused.
#include "compiler/passes/dilated_pool.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::refusal;
using testing::small_arch;

// A window whose strides are multiples of its dilations; some dilations are 1.
Window random_dilated(Random& random) {
  Window w;
  w.kernel_h = random.uniform(2, 4);
  w.kernel_w = random.uniform(1, 4);
  w.dilation_h = random.uniform(1, 4);
  w.dilation_w = random.uniform(1, 4);
  w.stride_h = w.dilation_h * random.uniform(1, 2);
  w.stride_w = w.kernel_w == 1 ? random.uniform(1, 3) : w.dilation_w * random.uniform(1, 2);
  w.pad_top = random.uniform(0, w.extent_h() - 1);
  w.pad_bottom = random.uniform(0, w.extent_h() - 1);
  w.pad_left = random.uniform(0, w.extent_w() - 1);
  w.pad_right = random.uniform(0, w.extent_w() - 1);
  return w;
}

TEST(DilatedPool, RandomOnesGiveTheGoldensBytesInEveryOrder) {
  int skips_first_rows = 0;
  int with_pads_absent = 0;
  for (std::uint64_t seed = 1; seed <= 150 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Window window = random_dilated(random);
    if (!is_dilated(window)) continue;
    GraphBuilder builder(seed, picture(random.uniform(1, 2), random.uniform(5, 24),
                                       random.uniform(5, 24), random.uniform(1, 20)));
    if (random.chance(0.5)) builder.conv(random.uniform(1, 12), testing::window(1));
    const ImageShape shape = builder.last_output().shape;
    if (shape.height + window.pad_top + window.pad_bottom < window.extent_h()) continue;
    if (shape.width + window.pad_left + window.pad_right < window.extent_w()) continue;
    builder.max_pool(window);
    const Graph graph = builder.build();
    const ImageShape pooled = graph.output_value().shape;
    const StridedPool strided = strided_pool(graph.layers.back(), window, shape, pooled);
    skips_first_rows += strided.copy.pad_top < 0 || strided.copy.pad_left < 0 ? 1 : 0;
    with_pads_absent += strided.pool.pad_top > 0 || strided.pool.pad_left > 0 ? 1 : 0;
    const Tensor input = builder.random_input();
    const Program program =
        compile(graph, random.chance(0.5) ? small_arch(4, 8) : small_arch(8, 4));
    const Tensor golden = golden::run_graph(graph, input).back();
    for (const bool random_order : {false, true}) {
      const auto engine = make_program_interpreter(random_order);
      EXPECT_EQ(engine->run(program, input, {.seed = seed}).ofmaps.back(), golden);
    }
  }
  EXPECT_GE(skips_first_rows, 40);
  EXPECT_GE(with_pads_absent, 40);
}

std::string refused(const Window& window, std::int64_t rows = 9) {
  const Graph graph = GraphBuilder(1, picture(1, rows, 9, 2)).max_pool(window).build();
  return refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
}

TEST(DilatedPool, AStrideThatIsNoMultipleOfTheDilationIsRefused) {
  const std::string end =
      "; the accelerator runs dilated max-pools whose stride is a multiple of the dilation";
  Window window = testing::window(2, 1);
  window.dilation_h = 2;
  EXPECT_EQ(refused(window), "layer 'pool0': vertical dilation is 2 with a stride of 1" + end);
  window = testing::window(3, 3);
  window.dilation_w = 2;
  EXPECT_EQ(refused(window), "layer 'pool0': horizontal dilation is 2 with a stride of 3" + end);
}

TEST(DilatedPool, AWindowWhoseTapsAllMissThePictureIsRefused) {
  Window window = testing::window(3, 3);
  window.dilation_h = 3;
  window.pad_top = 1;
  window.pad_bottom = 5;  // rows -1, 2 and 5 of a picture with row 0 alone
  EXPECT_EQ(refused(window, 1),
            "layer 'pool0': vertical dilation is 3 with pads of 1 before 1 positions: no tap of a "
            "window meets the picture");
}

}  // namespace
}  // namespace qsim
