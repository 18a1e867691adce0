// Products of levels with SSE2, which every x86-64 processor has.
#include "golden/kernels/train/pair_products.h"

#if defined(__x86_64__)
#include <cstring>

#include <immintrin.h>

#define QSIM_VECTOR

namespace qsim::golden::train {
namespace {

using Words = __m128i;
constexpr std::int64_t kLanes = 4;

QSIM_VECTOR inline Words every(std::int32_t pair) { return _mm_set1_epi32(pair); }
QSIM_VECTOR inline Words load(const LevelPair* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
QSIM_VECTOR inline void store(std::int32_t* to, Words sums) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), sums);
}
QSIM_VECTOR inline Words add_products(Words sums, Words a, Words b) {
  return _mm_add_epi32(sums, _mm_madd_epi16(a, b));
}

}  // namespace
}  // namespace qsim::golden::train

#include "golden/kernels/train/pair_products_body.h"

namespace qsim::golden::train {
void multiply_pairs_portable(const PairProducts& products) { multiply_lanes(products); }
}  // namespace qsim::golden::train
#endif
