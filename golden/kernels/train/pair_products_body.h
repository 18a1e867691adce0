// multiply_lanes() over the operations of one instruction set. The including file defines
// QSIM_VECTOR (the attribute of its functions), Words, kLanes and the operations
// (pair_products*.cpp).
#pragma once

#include "golden/kernels/train/pair_products.h"

namespace qsim::golden::train {
namespace {

// `rows` rows by `vectors` vectors of a panel's lanes stay in registers.
template <int rows, int vectors>
QSIM_VECTOR void multiply_rows(const PairProducts& p, std::int64_t first) {
  Words sum[rows][vectors];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = every(0);
  }
  const LevelPair* b = p.b + first;
  for (std::int64_t k = 0; k < p.pairs; ++k, b += p.lanes) {
    Words panel[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) panel[v] = load(b + v * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, p.a + r * p.a_row + 2 * k, sizeof pair);
      const Words value = every(pair);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = add_products(sum[r][v], value, panel[v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) store(p.sums + r * p.lanes + first + v * kLanes, sum[r][v]);
  }
}

template <int rows>
QSIM_VECTOR void multiply_panel(const PairProducts& p) {
  for (std::int64_t first = 0; first < p.lanes; first += 2 * kLanes) {
    if (p.lanes - first >= 2 * kLanes) {
      multiply_rows<rows, 2>(p, first);
    } else {
      multiply_rows<rows, 1>(p, first);
    }
  }
}

// Multiplies a panel of kLanes lanes or a multiple of it.
QSIM_VECTOR inline void multiply_lanes(const PairProducts& p) {
  switch (p.rows) {
    case 1:
      return multiply_panel<1>(p);
    case 2:
      return multiply_panel<2>(p);
    case 3:
      return multiply_panel<3>(p);
    default:
      return multiply_panel<4>(p);
  }
}

}  // namespace
}  // namespace qsim::golden::train
