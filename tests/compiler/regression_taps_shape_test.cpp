// A program's taps and its input tensor describe one picture: where they differ the host would
// write beyond a pixel's channels, so the verifier and the host refuse.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

Program program_with_taps(const ArchConfig& arch) {
  return compile(GraphBuilder(31, picture(1, 8, 8, 1)).conv(8, window(3, 1, 1)).build(), arch);
}

TEST(TapsShape, AWiderKernelThanTheTensorHoldsIsAViolation) {
  const ArchConfig arch = small_arch(8, 8);
  Program program = program_with_taps(arch);
  ASSERT_TRUE(program.input.taps.has_value());
  EXPECT_EQ(verify(program, arch), std::vector<std::string>{});
  program.input.taps->window.kernel_w = 5;
  program.input.taps->window.pad_right = 3;
  const std::vector<std::string> violations = verify(program, arch);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0], "input is [1, 8, 8, 9]; its taps make [1, 8, 8, 15]");
}

TEST(TapsShape, TheHostRefusesToPackThem) {
  Program program = program_with_taps(small_arch(8, 8));
  ASSERT_TRUE(program.input.taps.has_value());
  program.input.taps->window.kernel_h = 4;
  const Tensor input(DType::kInt8, {1, 8, 8, 1});
  EXPECT_THROW(make_program_interpreter()->run(program, input, {true, 1}), InternalError);
}

}  // namespace
}  // namespace qsim
