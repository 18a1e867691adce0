// The rows of x as the packed linear layer multiplies them: as signed digits of their fixed-point
// numbers, or as int8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "golden/common/thread_team.h"
#include "golden/kernels/linear/linear.h"
#include "golden/kernels/linear/linear_kernels.h"

namespace qsim::golden {

struct RowLayout {
  std::size_t in_features;
  std::size_t quads;  // those after in_features are zeros
  std::size_t groups;
  std::size_t group_elems;
};

struct PackedRows {
  struct NonFinite {
    std::size_t k;
    std::uint32_t bits;
  };

  std::size_t count = 0;
  int digits = kLeastDigits;                       // of every row
  std::vector<float> steps;                        // [row], what a unit of digit 0 is
  std::vector<std::int8_t> split;                  // [row][quad][digit][kLinearQuad]
  std::vector<std::int32_t> digit_sums;            // [row][group][kMostDigits], wrapping
  std::vector<std::vector<NonFinite>> non_finite;  // [row], ascending k

  std::size_t row_stride(std::size_t quads) const {
    return quads * static_cast<std::size_t>(digits) * kLinearQuad;
  }
};

// Splits rows into as many digits as the largest number of all rows needs.
PackedRows split_rows(const FloatMatrix& x, const RowLayout& layout, ThreadTeam& team);

// One digit, the int8 code; a step is a row's scale. No x counts as not finite.
PackedRows coded_rows(const FloatMatrix& x, const Int8Activations& activations,
                      const RowLayout& layout, ThreadTeam& team);

}  // namespace qsim::golden
