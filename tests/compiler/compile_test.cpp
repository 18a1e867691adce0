// Compiled programs: the interpreter gives golden's bytes, in program order and in random order,
// and the verifier finds nothing.
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "golden/cpu/graph_executor.h"
#include "golden/program_interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

void expect_agreement(const Graph& graph, const Tensor& input, const ArchConfig& arch,
                      std::uint64_t seed) {
  const Program program = compile(graph, arch);
  EXPECT_EQ(verify(program, arch), std::vector<std::string>{});
  const std::vector<Tensor> golden = golden::run_graph(graph, input, golden::Path::kPlain);
  for (const bool random_order : {false, true}) {
    SCOPED_TRACE(random_order ? "random order" : "program order");
    const RunResult result =
        make_program_interpreter(random_order)->run(program, input, {true, seed});
    ASSERT_EQ(result.ofmaps.size(), program.layers.size());
    for (std::size_t i = 0; i < program.layers.size(); ++i) {
      const auto layer = static_cast<std::size_t>(program.layers[i].graph_layer);
      EXPECT_TRUE(result.ofmaps[i] == golden[layer]) << program.layers[i].name;
    }
  }
}

constexpr std::int64_t kArrays[][2] = {{4, 4}, {8, 8}, {16, 16}, {16, 32}, {8, 4}, {32, 16}};

TEST(Compile, NetworkWithEveryLayerKindAgreesOnEveryArray) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    GraphBuilder builder(7, picture(2, 17, 13, 3, 11));
    const Graph graph = builder.conv(21, window(3, 1, 1))
                            .relu()
                            .max_pool(window(3, 2))
                            .conv(37, {3, 2, 2, 1, 1, 0, 2, 1})
                            .max_pool(window(2, 1), true)
                            .max_pool({2, 3, 1, 2, 1, 1, 0, 1})
                            .relu()
                            .flatten(Flatten::Order::kChw)
                            .fully_connected(19)
                            .relu()
                            .fully_connected(10)
                            .build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 3);
  }
}

TEST(Compile, UnsignedActivationsAreCarriedThroughEveryLayer) {
  for (const auto& [rows, cols] : kArrays) {
    GraphBuilder builder(8, picture(1, 9, 9, 20, 200, DType::kUint8));
    builder.conv(18, window(3, 2, 1));
    builder.last_layer().output.dtype = DType::kUint8;
    builder.last_layer().output.zero_point = 90;
    auto& requantization = std::get<Conv2d>(builder.last_layer().operation).requantization;
    requantization.lo = 3;
    requantization.hi = 250;
    const Graph graph =
        builder.relu().max_pool(window(2)).flatten(Flatten::Order::kHwc).fully_connected(9).build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 4);
  }
}

TEST(Compile, ReductionsThatNeedSeveralLoadsAgree) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    ArchConfig arch = small_arch(rows, cols);
    arch.act_scratchpad_kib = 1;
    GraphBuilder builder(9, picture(1, 11, 12, 5 * rows + 1, -9));
    const Graph graph = builder.conv(2 * cols + 1, {11, 7, 1, 2, 5, 3, 5, 3}, 13).build();
    expect_agreement(graph, builder.random_input(), arch, 5);
    EXPECT_NE(compile(graph, arch).layers[0].mapping.find(" acts"), std::string::npos);
  }
}

TEST(Compile, BatchedVectorsLargerThanATileAgree) {
  for (const auto& [rows, cols] : kArrays) {
    GraphBuilder builder(10, picture(70, 2, 3, 11, 5));
    const Graph graph = builder.flatten().fully_connected(33).fully_connected(50).build();
    expect_agreement(graph, builder.random_input(), small_arch(rows, cols), 6);
  }
}

TEST(Compile, IsDeterministic) {
  const Graph graph =
      GraphBuilder(11, picture(1, 12, 12, 3)).conv(30, window(3)).max_pool(window(2, 2)).build();
  EXPECT_TRUE(compile(graph, ArchConfig{}) == compile(graph, ArchConfig{}));
}

TEST(Compile, ALastFlattenIsLeftToTheHost) {
  GraphBuilder builder(12, picture(1, 6, 6, 3));
  const Graph graph = builder.conv(5, window(3)).flatten().build();
  const Program program = compile(graph, ArchConfig{});
  ASSERT_EQ(program.layers.size(), 1u);
  EXPECT_EQ(program.layers[0].graph_layer, 0);
  EXPECT_EQ(program.layers[0].operation, "conv2d+flatten");
}

TEST(Compile, TheNextLayersWeightsAreLoadedWhileTheOfmapIsFinished) {
  const Graph graph = GraphBuilder(13, picture(1, 16, 16, 16))
                          .conv(16, window(3, 1, 1))
                          .conv(16, window(3, 1, 1))
                          .build();
  const Program program = compile(graph, ArchConfig{});
  const auto& loads = program.stream(Unit::kLoad);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto& load = std::get<Load>(loads[i].command.fields);
    const bool is_act = load.memory == static_cast<std::uint32_t>(LoadMemory::kActivation);
    if (loads[i].origin.layer != 1 || !is_act) continue;
    ASSERT_GT(i, 0u);
    EXPECT_EQ(loads[i - 1].origin.layer, 1) << "weights of layer 1 go first";
    return;
  }
  FAIL() << "layer 1 loads no activations";
}

}  // namespace
}  // namespace qsim
