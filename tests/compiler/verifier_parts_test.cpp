// What verify() knows of a psum tile that several POSTs take, each with its parameters: an average
// pool whose windows count several numbers.
#include "compiler/compile.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/planted_violation.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::joined;

// 3 x 3 windows on 5 x 5 pixels, pads not counted, in one psum tile: nine rectangles, counts 4, 6
// and 9.
Program pool_program() {
  testing::GraphBuilder builder(1, testing::picture(1, 5, 5, 4));
  builder.average_pool(testing::window(3, 1, 1), RequantizerRounding::kFloat32, 1.0F, false);
  ArchConfig arch = testing::small_arch(4, 4);
  arch.requantizer = RequantizerKind::kDyadic;
  const Mapping one_tile = {.tile_rows = 5, .tile_cols = 5, .act_planes = 1, .act_kernel_rows = 3};
  CompileOptions options;
  options.mappings = {{"average0", one_tile, {}, {}}};
  return compile(builder.build(), arch, options);
}

std::string violations_with(const std::function<void(ProgramDraft&)>& plant) {
  const Program program = pool_program();
  ProgramDraft draft(program);
  plant(draft);
  return joined(verify(draft.program(), program.arch));
}

void expect_found(const std::function<void(ProgramDraft&)>& plant, const std::string& expected) {
  const std::string found = violations_with(plant);
  EXPECT_NE(found.find(expected), std::string::npos) << "expected: " << expected << "\nfound:\n"
                                                     << found;
}

TEST(VerifierOfParts, TakesNinePostsWithThreeLoadsOfParameters) {
  const Program program = pool_program();
  EXPECT_EQ(program.stream(Unit::kPost).size(), 9u);
  std::size_t params = 0;
  for (std::size_t i = 0; i < program.stream(Unit::kLoad).size(); ++i) {
    const Command command = program.stream(Unit::kLoad).command(i);
    params += std::get<Load>(command.fields).memory == 2 ? 1 : 0;
  }
  EXPECT_EQ(params, 3u);
  EXPECT_EQ(violations_with([](ProgramDraft&) {}), "");
}

TEST(VerifierOfParts, FindsAPartThatReadsBeyondItsTile) {
  // The fourth POST is the lower right corner: one row more is not there.
  expect_found(
      [](ProgramDraft& p) {
        Post& post = p.fields<Post>(3);
        ++post.in_rows;
        ++post.out_rows;
      },
      "reads words never written");
}

TEST(VerifierOfParts, FindsAPartWithTheParametersOfAnotherCount) {
  // The first POST that divides by 6 takes the slot of 4.
  expect_found([](ProgramDraft& p) { p.fields<Post>(4).param_slot ^= 1; }, "is known to be done");
  expect_found([](ProgramDraft& p) { p.fields<Post>(0).param_slot ^= 1; }, "is known to be done");
}

TEST(VerifierOfParts, FindsARectangleThatIsStoredInThePlaceOfAnother) {
  expect_found([](ProgramDraft& p) { p.fields<Store>(1).dram_addr = p.fields<Store>(0).dram_addr; },
               "nobody stores");
}

}  // namespace
}  // namespace qsim
