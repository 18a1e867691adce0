// The innermost loop of a convolution's gradients: sums of products for one to four rows and the
// lanes of a panel. Every processor gives the same bits: each product and each sum is
// rounded by itself, and the products of a sum are added one after the other.
#pragma once

#include <cstdint>

#include "golden/common/vector_path.h"

namespace qsim::golden::train {

inline constexpr std::int64_t kMostRows = 4;

// Channels that a panel has: many, or few where a group has few.
constexpr std::int64_t panel_lanes(std::int64_t channels) { return channels <= 8 ? 8 : 32; }

// sums[r][c] (+)= sum over k of a[r * a_row + k * a_step] * b[k * b_step + c].
struct Products {
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_step = 1;
  const float* b = nullptr;
  std::int64_t b_step = 0;
  std::int64_t lanes = 0;  // panel_lanes()
  std::int64_t rows = 0;   // 1..kMostRows
  std::int64_t depth = 0;
  float* sums = nullptr;  // [rows][lanes]
  bool adds = false;      // else sums begin at 0
};

// Multiplies with the best instructions of this processor, or with those of a path that it has.
void multiply(const Products& products);
void multiply(const Products& products, VectorPath path);

}  // namespace qsim::golden::train
