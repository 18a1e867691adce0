// A STORE whose runs overlap stores elements twice by itself; the verifier says so, and which STORE
// was first when another one stores them again.
#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "tests/core/program_draft.h"
#include "tests/core/sample_program.h"

namespace qsim {

using namespace compiler;
namespace {

const std::string kFirst = "store command 0 (first tile 0, n 0..1, y 0..2, x 0..4, c 0..4)";

// The sample program; its first STORE's 32 bytes begin at 64.
ProgramDraft with_overlapping_runs() {
  ProgramDraft draft(sample::program());
  auto& store = draft.fields<Store>(0);
  store.runs = 2;
  store.run_bytes = 16;
  store.run_stride = 8;
  return draft;
}

void expect_violation(const ProgramDraft& draft, const std::string& expected) {
  std::string found;
  for (const std::string& violation : verify(draft.program(), sample::tiny_arch())) {
    found += violation + "\n";
  }
  EXPECT_NE(found.find(expected), std::string::npos) << "expected: " << expected << "\nfound:\n"
                                                     << found;
}

TEST(OverlappingRuns, AreElementsStoredTwice) {
  expect_violation(with_overlapping_runs(),
                   kFirst +
                       ": stores ofmap of first element (n 0, y 0, x 2, c 0) a second time, "
                       "after " +
                       kFirst);
}

TEST(OverlappingRuns, AreToldFromThoseOfAnotherStore) {
  ProgramDraft draft = with_overlapping_runs();
  draft.fields<Store>(1).dram_addr = 64;
  expect_violation(draft,
                   "store command 1 (first tile 1, n 0..1, y 0..2, x 0..4, c 4..8): stores ofmap "
                   "of first element (n 0, y 0, x 0, c 0) a second time, after " +
                       kFirst);
}

}  // namespace
}  // namespace qsim
