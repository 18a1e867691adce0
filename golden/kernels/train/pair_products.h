// The innermost loop of convolutions of levels: sums of products, two a step, for one to four rows
// and the lanes of a panel. Integers wrap to 32 bits, so every processor gives the same.
#pragma once

#include <cstdint>

#include "golden/common/vector_path.h"
#include "golden/kernels/train/products.h"

namespace qsim::golden::train {

// Two steps of a factor: a level without its zero_point, or a weight. -32767..32767.
struct LevelPair {
  std::int16_t even = 0;
  std::int16_t odd = 0;
};

// sums[r][c] = sum over k of a[r * a_row + 2 k] * b[k * lanes + c].even
//                          + a[r * a_row + 2 k + 1] * b[k * lanes + c].odd.
struct PairProducts {
  const std::int16_t* a = nullptr;
  std::int64_t a_row = 0;
  const LevelPair* b = nullptr;
  std::int64_t lanes = 0;  // panel_lanes()
  std::int64_t rows = 0;   // 1..kMostRows
  std::int64_t pairs = 0;
  std::int32_t* sums = nullptr;  // [rows][lanes]
};

// Multiplies with the best instructions of this processor, or with those of a path that it has.
void multiply(const PairProducts& products);
void multiply(const PairProducts& products, VectorPath path);

using MultiplyPairs = void (*)(const PairProducts& products);

void multiply_pairs_portable(const PairProducts& products);
#if defined(__x86_64__)
void multiply_pairs_avx2(const PairProducts& products);
void multiply_pairs_avx512(const PairProducts& products);  // with VNNI
#endif

}  // namespace qsim::golden::train
