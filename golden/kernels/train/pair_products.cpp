#include "golden/kernels/train/pair_products.h"

#include <algorithm>

namespace qsim::golden::train {
namespace {

MultiplyPairs multiply_of(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return multiply_pairs_avx512;
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return multiply_pairs_avx2;
#endif
    default:
      return multiply_pairs_portable;
  }
}

}  // namespace

void multiply(const PairProducts& products) {
  static const MultiplyPairs kBest = multiply_of(VectorPath::kAuto);
  kBest(products);
}

void multiply(const PairProducts& products, VectorPath path) { multiply_of(path)(products); }

#if !defined(__x86_64__)
void multiply_pairs_portable(const PairProducts& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    std::uint32_t sums[32] = {};
    for (std::int64_t k = 0; k < p.pairs; ++k) {
      const std::int32_t even = p.a[r * p.a_row + 2 * k], odd = p.a[r * p.a_row + 2 * k + 1];
      const LevelPair* b = p.b + k * p.lanes;
      for (std::int64_t c = 0; c < p.lanes; ++c) {
        sums[c] += static_cast<std::uint32_t>(even * b[c].even) +
                   static_cast<std::uint32_t>(odd * b[c].odd);
      }
    }
    std::transform(sums, sums + p.lanes, p.sums + r * p.lanes,
                   [](std::uint32_t sum) { return static_cast<std::int32_t>(sum); });
  }
}
#endif

}  // namespace qsim::golden::train
