// However many words the EXECUTEs of a program claim to read, the verifier says at once that they
// lie outside the memory.
#include <chrono>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "tests/compiler/graph_builder.h"
#include "tests/core/program_draft.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

void expect_quick_refusal(std::uint32_t plane_words, std::uint32_t row_words) {
  const ArchConfig arch = small_arch(8, 8);
  ProgramDraft draft(
      compile(GraphBuilder(41, picture(1, 24, 24, 16)).conv(24, window(3)).build(), arch));
  for (Instruction& instruction : draft.stream(Unit::kExecute)) {
    auto& execute = std::get<Execute>(instruction.command.fields);
    execute.planes = execute.in_rows = execute.out_rows = 4095;
    execute.act_plane_words = plane_words;
    execute.act_row_words = row_words;
  }
  const Program program = draft.program();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(verify(program, arch).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(VerifierWalk, WordsFarBeyondTheMemory) { expect_quick_refusal(1048575, 65535); }
TEST(VerifierWalk, TheSameWordsManyTimes) { expect_quick_refusal(2, 2); }

}  // namespace
}  // namespace qsim
