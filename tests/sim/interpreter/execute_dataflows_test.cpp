// The interpreter's EXECUTE against plain loops: random commands of every dataflow and array shape.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "sim/interpreter/command_effects.h"
#include "tests/sim/systemc/hand_program.h"
#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {

namespace interpreter = sim::interpreter;

using namespace sim;
namespace {

struct Size {
  std::int64_t rows;
  std::int64_t cols;
};

constexpr Size kSizes[] = {{4, 4}, {4, 16}, {16, 4}, {8, 32}, {32, 8}, {16, 16}};

// Some program, for a machine needs one.
Program program_for(const ArchConfig& arch) {
  Program program = hand_program();
  program.arch = arch;
  return program;
}

void copy_into(const ReferenceMachine& reference, interpreter::Machine& machine) {
  machine.act = reference.activations;
  machine.weight = reference.weights;
  for (std::size_t half = 0; half < 2; ++half) {
    machine.accumulator[half].assign(reference.psums[half].begin(), reference.psums[half].end());
  }
}

void expect_same_psums(const ReferenceMachine& reference, const interpreter::Machine& machine) {
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t i = 0; i < reference.psums[half].size(); ++i) {
      ASSERT_EQ(static_cast<std::int32_t>(machine.accumulator[half][i]), reference.psums[half][i])
          << "half " << half << ", element " << i;
    }
  }
}

TEST(InterpretedExecute, OfEveryDataflowIsThePseudoCode) {
  std::array<int, kDataflows> commands{};
  for (const Size& size : kSizes) {
    const ArchConfig arch = small_arch(size.rows, size.cols);
    const Program program = program_for(arch);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE("array " + std::to_string(size.rows) + "x" + std::to_string(size.cols) +
                   ", seed " + std::to_string(seed));
      Random random(seed);
      ReferenceMachine reference(arch);
      reference.fill(random);
      interpreter::Machine machine(program, hand_input());
      copy_into(reference, machine);
      for (int i = 0; i < 3; ++i) {
        const Execute execute = random_execute(random, arch);
        ++commands[execute.dataflow];
        reference.execute(execute);
        interpreter::apply(execute, machine);
      }
      expect_same_psums(reference, machine);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  for (const int count : commands) EXPECT_GT(count, 30);
}

// Two weights of one fold, one pixel: the layouts [r][c] and [c][r] in words of max(R, C) bytes.
TEST(InterpretedExecute, TakesWeightsByElementOrByChannel) {
  const ArchConfig arch = small_arch(8, 4);
  const Program program = program_for(arch);
  for (const std::uint32_t dataflow : {0u, 1u, 2u}) {
    interpreter::Machine machine(program, hand_input());
    std::fill(machine.act.begin(), machine.act.end(), std::int8_t{0});
    std::fill(machine.weight.begin(), machine.weight.end(), std::int8_t{0});
    machine.act[3] = 5;  // r = 3
    // Word 2 begins at byte 16. Byte 13 of its fold is r = 3, c = 1 by element, c = 1, r = 5 by
    // channel; byte 11 is r = 2, c = 3 by element, c = 1, r = 3 by channel.
    machine.weight[16 + 13] = 7;
    machine.weight[16 + 11] = -3;
    Execute e;
    e.dataflow = dataflow;
    e.blocks = e.planes = e.kernel_h = e.kernel_w = e.stride_h = e.stride_w = 1;
    e.out_rows = e.out_cols = e.in_rows = e.in_cols = e.act_row_words = e.act_plane_words = 1;
    e.weight_addr = 2;
    interpreter::apply(e, machine);
    EXPECT_EQ(static_cast<std::int32_t>(machine.accumulator[0][1]), dataflow == 2 ? -15 : 35);
    EXPECT_EQ(machine.accumulator[0][3], 0u);
  }
}

TEST(InterpretedExecute, OfNoDataflowIsRefused) {
  const Program program = program_for(small_arch(4, 4));
  interpreter::Machine machine(program, hand_input());
  Execute e;
  e.dataflow = 3;
  EXPECT_THROW(interpreter::apply(e, machine), Error);
}

}  // namespace
}  // namespace qsim
