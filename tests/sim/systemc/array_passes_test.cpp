// EXECUTEs of more folds than the vector paths work on at once: their psums are written and read
// again between two groups of folds. Tests every path and every width of the array, with the
// extreme values of int8 among the operands.
#include <algorithm>

#include <gtest/gtest.h>

#include "sim/systemc/datapath/array_kernel.h"
#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {

using namespace sim;
namespace {

// Weights of this many columns, the most that a block has, fill 48 KiB: three passes or more.
constexpr std::int64_t kWidestBlock = 64;
constexpr std::int64_t kWeightBytes = 48 * 1024;
constexpr std::int64_t kFoldsOfAPlane = 9;

ArchConfig wide_memories(std::int64_t rows, std::int64_t cols) {
  ArchConfig arch = small_arch(rows, cols);
  arch.act_scratchpad_kib = 64;
  arch.weight_scratchpad_kib = 128;
  validate(arch);
  return arch;
}

// A 3x3 convolution with padding on 5x7 pixels.
Execute many_folds(const ArchConfig& arch) {
  Execute e;
  e.blocks = 1;
  e.kernel_h = e.kernel_w = 3;
  e.stride_h = e.stride_w = 1;
  e.in_rows = e.out_rows = 5;
  e.in_cols = e.act_row_words = 7;
  e.out_cols = 6;
  e.origin_row = e.origin_col = -1;
  e.act_plane_words = e.in_rows * e.act_row_words;
  e.pad_value = -128;
  const std::int64_t fold_bytes = arch.array_rows * std::min(arch.array_cols, kWidestBlock);
  e.planes = static_cast<std::uint32_t>(kWeightBytes / fold_bytes / kFoldsOfAPlane + 1);
  return e;
}

// The same random bytes in both machines.
void fill(ReferenceMachine& reference, Scratchpads& scratchpads, Random& random) {
  const ArchConfig& arch = reference.arch;
  reference.fill(random);
  std::ranges::copy(reference.activations,
                    scratchpads.written_activations(0, arch.act_words()).begin());
  std::ranges::copy(reference.weights, scratchpads.weights(0, arch.weight_words()).begin());
  std::ranges::copy(reference.psums[0],
                    scratchpads.psums(0, 0, arch.accumulator_half_words()).begin());
}

class ArrayPasses : public testing::TestWithParam<VectorPath> {
 protected:
  void SetUp() override {
    if (!is_supported(GetParam())) {
      GTEST_SKIP() << "skipped: this processor has no " << vector_path_name(GetParam());
    }
  }
};

TEST_P(ArrayPasses, OfManyFoldsAddUpToThePsumsOfThePseudoCode) {
  for (const std::int64_t cols : {4, 8, 16, 32, 64, 128}) {
    for (const std::int64_t rows : {4, 16}) {
      for (std::uint32_t accumulate = 0; accumulate <= 1; ++accumulate) {
        const auto seed = static_cast<std::uint64_t>(1000 * rows + cols);
        SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols) + ", seed " +
                     std::to_string(seed) + ", accumulate " + std::to_string(accumulate));
        Random random(seed);
        const ArchConfig arch = wide_memories(rows, cols);
        ReferenceMachine reference(arch);
        Scratchpads scratchpads(arch);
        fill(reference, scratchpads, random);
        Execute execute = many_folds(arch);
        execute.accumulate = accumulate;
        reference.execute(execute);
        ArrayKernel(GetParam()).execute(execute, arch, scratchpads);
        ASSERT_TRUE(std::ranges::equal(reference.psums[0],
                                       scratchpads.psums(0, 0, arch.accumulator_half_words())));
      }
    }
  }
}

std::string test_name(const testing::TestParamInfo<VectorPath>& info) {
  return std::string(vector_path_name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Paths, ArrayPasses, testing::ValuesIn(kVectorPaths), test_name);

}  // namespace
}  // namespace qsim
