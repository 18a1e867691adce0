// Weights after a flattened picture, of which planes are packed together: golden's bytes come out
// where planes end within such a group, at a block of channels, at a chunk, or at the channels'
// end.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;

ArchConfig arch_with_long_chunks(std::int64_t rows, std::int64_t cols) {
  ArchConfig arch = testing::small_arch(rows, cols);
  arch.act_scratchpad_kib = 16;
  arch.weight_scratchpad_kib = 8 * rows * cols / 64;
  return arch;
}

void expect_agreement(std::int64_t height, std::int64_t width, std::int64_t channels,
                      Flatten::Order order, const ArchConfig& arch) {
  SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width) + "x" +
               std::to_string(channels) + " on " + std::to_string(arch.array_rows) + "x" +
               std::to_string(arch.array_cols));
  GraphBuilder builder(31, picture(1, height, width, channels));
  const Graph graph = builder.relu().flatten(order).fully_connected(arch.array_cols + 5).build();
  const Tensor input = builder.random_input();
  const RunResult result = make_program_interpreter(false)->run(compile(graph, arch), input, {});
  const Tensor golden = golden::run_graph(graph, input, golden::Path::kPlain).back();
  EXPECT_TRUE(result.ofmaps.back() == golden);
}

TEST(FlattenedWeights, AgreeWithGoldenHoweverManyPlanesThereAre) {
  for (const auto& [rows, cols] : {std::pair{8, 16}, {16, 16}, {32, 16}, {16, 32}, {8, 8}}) {
    const ArchConfig arch = arch_with_long_chunks(rows, cols);
    for (const auto order : {Flatten::Order::kChw, Flatten::Order::kHwc}) {
      expect_agreement(4, 4, 32, order, arch);  // 16 planes a block of channels
      expect_agreement(7, 5, 40, order, arch);  // 35, and a block that is not full
      expect_agreement(3, 5, 64, order, arch);  // 15
      expect_agreement(1, 50, 3, order, arch);  // one block, not full
    }
  }
}

}  // namespace
}  // namespace qsim
