// Regression: an EXECUTE whose stride steps over resident columns reads none of them, be it that
// they lie beyond the end of the activation scratchpad.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "sim/systemc/datapath/array_kernel.h"
#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {

using namespace sim;
namespace {

// Columns of a tile's row that the window of `e` reads.
std::set<std::int64_t> columns_read(const Execute& e) {
  std::set<std::int64_t> columns;
  for (std::int64_t ox = 0; ox < e.out_cols; ++ox) {
    for (std::int64_t kx = 0; kx < e.kernel_w; ++kx) {
      const std::int64_t ix = ox * e.stride_w + kx + e.origin_col;
      if (0 <= ix && ix < e.in_cols) columns.insert(ix);
    }
  }
  return columns;
}

// Two planes of one row; the last word that is read is the last of the scratchpad.
Execute at_the_end(const Execute& shape, const ArchConfig& arch) {
  Execute e = shape;
  e.planes = 2;
  e.in_rows = e.kernel_h = e.stride_h = e.out_rows = e.blocks = 1;
  e.act_row_words = e.in_cols;
  e.act_plane_words = 3;
  e.pad_value = -77;
  const std::set<std::int64_t> columns = columns_read(e);
  const std::int64_t words = columns.empty() ? 1 : e.act_plane_words + *columns.rbegin() + 1;
  e.act_addr = static_cast<std::uint32_t>(arch.act_words() - words);
  return e;
}

// Calls visit(execute) for every way in which a stride of up to 5 can step over columns.
template <typename Visit>
void for_each_shape(Visit visit) {
  Execute e;
  for (e.stride_w = 2; e.stride_w <= 5; ++e.stride_w) {
    for (e.kernel_w = 1; e.kernel_w < e.stride_w; ++e.kernel_w) {
      for (e.out_cols = 1; e.out_cols <= 3; ++e.out_cols) {
        for (e.in_cols = 1; e.in_cols <= 9; ++e.in_cols) {
          for (e.origin_col = -6; e.origin_col <= 6; ++e.origin_col) visit(e);
        }
      }
    }
  }
}

void expect_same_psums(VectorPath path, const ArchConfig& arch) {
  Random random(5);
  ReferenceMachine reference(arch);
  reference.fill(random);
  Scratchpads scratchpads(arch);
  std::ranges::copy(reference.activations,
                    scratchpads.written_activations(0, arch.act_words()).begin());
  std::ranges::copy(reference.weights, scratchpads.weights(0, arch.weight_words()).begin());
  ArrayKernel kernel(path);
  for_each_shape([&](const Execute& shape) {
    const Execute e = at_the_end(shape, arch);
    reference.execute(e);
    kernel.execute(e, arch, scratchpads);
    const auto psums = scratchpads.psums(0, 0, e.out_cols);
    ASSERT_TRUE(std::equal(psums.begin(), psums.end(), reference.psums[0].begin()))
        << vector_path_name(path) << ": stride " << e.stride_w << ", kernel " << e.kernel_w
        << ", origin " << e.origin_col << ", " << e.in_cols << " columns to " << e.out_cols;
  });
}

TEST(SteppedOverColumns, MayLieBeyondTheEndOfTheScratchpad) {
  for (const VectorPath path : kVectorPaths) {
    if (!is_supported(path)) continue;
    for (const std::int64_t size : {4, 16}) expect_same_psums(path, small_arch(size, size));
  }
}

}  // namespace
}  // namespace qsim
