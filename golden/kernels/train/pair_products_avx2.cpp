// Products of levels with AVX2.
#include "golden/kernels/train/pair_products.h"

#if defined(__x86_64__)
#include <cstring>

#include <immintrin.h>

#define QSIM_VECTOR __attribute__((target("avx2")))

namespace qsim::golden::train {
namespace {

using Words = __m256i;
constexpr std::int64_t kLanes = 8;

QSIM_VECTOR inline Words every(std::int32_t pair) { return _mm256_set1_epi32(pair); }
QSIM_VECTOR inline Words load(const LevelPair* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
QSIM_VECTOR inline void store(std::int32_t* to, Words sums) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums);
}
QSIM_VECTOR inline Words add_products(Words sums, Words a, Words b) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
}

}  // namespace
}  // namespace qsim::golden::train

#include "golden/kernels/train/pair_products_body.h"

namespace qsim::golden::train {
QSIM_VECTOR void multiply_pairs_avx2(const PairProducts& products) { multiply_lanes(products); }
}  // namespace qsim::golden::train
#endif
