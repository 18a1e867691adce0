// The runs of a LOAD that the verifier checks as a whole where it can: each must begin a word.
#include <algorithm>

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

// An array whose words are two beats, so that a run can begin at a beat and within a word.
ArchConfig arch_with_half_word_beats() {
  ArchConfig arch = testing::small_arch(8, 8);
  arch.bus_bytes = 4;
  return arch;
}

Load* first_load(ProgramDraft& draft, bool (*wanted)(const Load&)) {
  for (Instruction& instruction : draft.stream(Unit::kLoad)) {
    auto& load = std::get<Load>(instruction.command.fields);
    if (load.memory == static_cast<std::uint32_t>(LoadMemory::kActivation) && wanted(load)) {
      return &load;
    }
  }
  return nullptr;
}

void expect_no_words(const ProgramDraft& draft) {
  std::string found;
  for (const std::string& violation : verify(draft.program(), arch_with_half_word_beats())) {
    found += violation + "\n";
  }
  EXPECT_NE(found.find("which are no words of the input or of an ofmap"), std::string::npos)
      << found;
}

ProgramDraft draft() {
  GraphBuilder builder(41, picture(1, 24, 24, 16));
  return ProgramDraft(
      compile(builder.conv(24, testing::window(3)).build(), arch_with_half_word_beats()));
}

TEST(VerifierRuns, ARunThatBeginsWithinAWordIsFound) {
  ProgramDraft program = draft();
  Load* load = first_load(program, [](const Load& l) { return l.runs > 1; });
  ASSERT_NE(load, nullptr);
  load->run_stride -= 4;
  expect_no_words(program);
}

TEST(VerifierRuns, AGroupThatBeginsWithinAWordIsFound) {
  ProgramDraft program = draft();
  Load* load = first_load(program, [](const Load& l) { return l.runs > 1 && l.groups == 1; });
  ASSERT_NE(load, nullptr);
  load->groups = load->runs;  // the same runs, as groups of one
  load->group_stride = load->run_stride - 4;
  load->runs = 1;
  expect_no_words(program);
}

TEST(VerifierRuns, ATransferThatBeginsWithinAWordIsFound) {
  ProgramDraft program = draft();
  Load* load = first_load(program, [](const Load&) { return true; });
  ASSERT_NE(load, nullptr);
  load->dram_addr += 4;
  expect_no_words(program);
}

}  // namespace
}  // namespace qsim
