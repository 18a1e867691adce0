// Products of levels with AVX-512 VNNI.
#include "golden/kernels/train/pair_products.h"

#if defined(__x86_64__)
#include <cstring>

#include <immintrin.h>

#define QSIM_VECTOR __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace qsim::golden::train {
namespace {

using Words = __m512i;
constexpr std::int64_t kLanes = 16;

QSIM_VECTOR inline Words every(std::int32_t pair) { return _mm512_set1_epi32(pair); }
QSIM_VECTOR inline Words load(const LevelPair* from) { return _mm512_loadu_si512(from); }
QSIM_VECTOR inline void store(std::int32_t* to, Words sums) { _mm512_storeu_si512(to, sums); }
QSIM_VECTOR inline Words add_products(Words sums, Words a, Words b) {
  return _mm512_dpwssd_epi32(sums, a, b);
}

}  // namespace
}  // namespace qsim::golden::train

#include "golden/kernels/train/pair_products_body.h"

namespace qsim::golden::train {
// A narrow panel is half a vector.
QSIM_VECTOR void multiply_pairs_avx512(const PairProducts& products) {
  if (products.lanes < kLanes) return multiply_pairs_avx2(products);
  multiply_lanes(products);
}
}  // namespace qsim::golden::train
#endif
