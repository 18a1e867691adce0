// Input vectors that need several LOADs are cut between pixels' blocks, where the columns outnumber
// the rows: the machine takes whole pixels, and the verifier refuses anything else.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"
#include "tests/core/program_draft.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;

// An activation slot of 32 words of 4 bytes: room for 10 words of each of 3 vectors, which is two
// blocks of 16 bytes and half of a third.
ArchConfig narrow_slots() {
  ArchConfig arch = small_arch(4, 16);
  arch.act_slots = 8;
  return arch;
}

Graph vectors() { return GraphBuilder(21, picture(3, 1, 1, 200, 5)).fully_connected(17).build(); }

TEST(WholePixelLoads, VectorsAreCutBetweenBlocks) {
  const ArchConfig arch = narrow_slots();
  const Program program = compile(vectors(), arch);
  EXPECT_EQ(verify(program, arch), std::vector<std::string>{});
  int activation_loads = 0;
  for (const Instruction& instruction : program.stream(Unit::kLoad)) {
    const auto& load = std::get<Load>(instruction.command.fields);
    if (load.memory != static_cast<std::uint32_t>(LoadMemory::kActivation)) continue;
    EXPECT_EQ(load.run_bytes % arch.block_channels(), 0) << load.run_bytes;
    ++activation_loads;
  }
  EXPECT_GT(activation_loads, 1);
}

TEST(WholePixelLoads, TheBytesAreGoldens) {
  GraphBuilder builder(22, picture(3, 1, 1, 200, 5));
  const Graph graph = builder.fully_connected(17).build();
  const Tensor input = builder.random_input();
  const Program program = compile(graph, narrow_slots());
  const RunResult result = make_program_interpreter(true)->run(program, input, {true, 1});
  EXPECT_TRUE(result.ofmaps.back() == golden::run_graph(graph, input, golden::Path::kPlain).back());
}

TEST(WholePixelLoads, VerifierRefusesPartOfAPixel) {
  const ArchConfig arch = narrow_slots();
  ProgramDraft draft(compile(vectors(), arch));
  Load& load = draft.fields<Load>(0);
  ASSERT_EQ(load.memory, static_cast<std::uint32_t>(LoadMemory::kActivation));
  load.run_bytes -= static_cast<std::uint32_t>(arch.array_rows);
  const std::vector<std::string> violations = verify(draft.program(), arch);
  ASSERT_FALSE(violations.empty());
  EXPECT_NE(violations[0].find("a multiple of 4 is needed"), std::string::npos) << violations[0];
}

}  // namespace
}  // namespace qsim
