// core/numerics/adder.h's rounding float32 with AVX2 and FMA3. Sums are clamped before they are
// rounded to integers, which is the same, since the ends are integers.
#include "golden/graph/cpu/kernels_256.h"

#if defined(__x86_64__)
#define QSIM_FMA __attribute__((target("avx2,fma")))

namespace qsim::golden {
namespace {

struct Constants {
  __m256 a_ratio, b_ratio, fixed, lo, hi;
  __m256i a_flip, b_flip;
};

// Eight levels. A byte's flip is what is below its level, too.
QSIM_FMA inline __m256 levels_of(const std::uint8_t* bytes, __m256i flip) {
  const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  const __m256i lanes = _mm256_xor_si256(_mm256_cvtepu8_epi32(eight), flip);
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(lanes, flip));
}

QSIM_FMA inline __m256i sums_of(const std::uint8_t* a, const std::uint8_t* b, const Constants& k) {
  const __m256 b_part = _mm256_fmadd_ps(levels_of(b, k.b_flip), k.b_ratio, k.fixed);
  const __m256 sum = _mm256_fmadd_ps(levels_of(a, k.a_flip), k.a_ratio, b_part);
  const __m256i levels = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(sum, k.lo), k.hi));
  return _mm256_and_si256(levels, _mm256_set1_epi32(0xFF));
}

// kPanelChannels sums.
QSIM_FMA inline void add_panel(const std::uint8_t* a, const std::uint8_t* b, const Constants& k,
                               std::uint8_t* out) {
  const __m256i sums[4] = {sums_of(a, b, k), sums_of(a + kLanes256, b + kLanes256, k),
                           sums_of(a + 2 * kLanes256, b + 2 * kLanes256, k),
                           sums_of(a + 3 * kLanes256, b + 3 * kLanes256, k)};
  store_levels(sums, kPanelChannels, out);
}

}  // namespace

QSIM_FMA void add_float32_256(const AddOperands& operands, const std::uint8_t* a,
                              const std::uint8_t* b, std::uint8_t* out, std::size_t count) {
  const Constants k{_mm256_set1_ps(operands.a_ratio),
                    _mm256_set1_ps(operands.b_ratio),
                    _mm256_set1_ps(operands.fixed),
                    _mm256_set1_ps(static_cast<float>(operands.lo)),
                    _mm256_set1_ps(static_cast<float>(operands.hi)),
                    _mm256_set1_epi32(operands.a_flip),
                    _mm256_set1_epi32(operands.b_flip)};
  std::size_t i = 0;
  for (; i + kPanelChannels <= count; i += kPanelChannels) add_panel(a + i, b + i, k, out + i);
  if (i == count) return;
  std::uint8_t rest[3][kPanelChannels] = {};
  std::memcpy(rest[0], a + i, count - i);
  std::memcpy(rest[1], b + i, count - i);
  add_panel(rest[0], rest[1], k, rest[2]);
  std::memcpy(out + i, rest[2], count - i);
}

}  // namespace qsim::golden
#endif
