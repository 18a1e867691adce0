// The conversions with AVX2, FMA and F16C.
#include "golden/kernels/convert/vector_conversion.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define QSIM_VECTOR __attribute__((target("avx2,f16c,fma")))

namespace qsim::golden {
namespace {

using Floats = __m256;
using Ints = __m256i;
using Bytes = __m256i;
constexpr std::size_t kLanes = 8;

QSIM_VECTOR inline Floats every(float value) { return _mm256_set1_ps(value); }
QSIM_VECTOR inline Ints all(std::uint32_t value) {
  return _mm256_set1_epi32(static_cast<std::int32_t>(value));
}
QSIM_VECTOR inline Floats lanes_of_bits(Ints x) { return _mm256_castsi256_ps(x); }
QSIM_VECTOR inline Ints bits_of_lanes(Floats x) { return _mm256_castps_si256(x); }
QSIM_VECTOR inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
QSIM_VECTOR inline Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
QSIM_VECTOR inline Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
QSIM_VECTOR inline Floats multiply_subtract(Floats a, Floats b, Floats c) {
  return _mm256_fmsub_ps(a, b, c);
}
// a - b * c
QSIM_VECTOR inline Floats subtract_product(Floats a, Floats b, Floats c) {
  return _mm256_fnmadd_ps(b, c, a);
}
QSIM_VECTOR inline Floats smallest(Floats a, Floats b) { return _mm256_min_ps(a, b); }
QSIM_VECTOR inline Floats largest(Floats a, Floats b) { return _mm256_max_ps(a, b); }
QSIM_VECTOR inline Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
QSIM_VECTOR inline Ints subtract(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
QSIM_VECTOR inline Ints bits_and(Ints a, Ints b) { return _mm256_and_si256(a, b); }
QSIM_VECTOR inline Ints bits_or(Ints a, Ints b) { return _mm256_or_si256(a, b); }
QSIM_VECTOR inline Ints bits_xor(Ints a, Ints b) { return _mm256_xor_si256(a, b); }
QSIM_VECTOR inline Ints least(Ints a, Ints b) { return _mm256_min_epu32(a, b); }
QSIM_VECTOR inline Ints signed_least(Ints a, Ints b) { return _mm256_min_epi32(a, b); }
QSIM_VECTOR inline Ints signed_most(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
template <int bits>
QSIM_VECTOR inline Ints shift_left(Ints x) {
  return _mm256_slli_epi32(x, bits);
}
template <int bits>
QSIM_VECTOR inline Ints shift_right(Ints x) {
  return _mm256_srli_epi32(x, bits);
}
QSIM_VECTOR inline Ints to_nearest(Floats x) { return _mm256_cvtps_epi32(x); }
QSIM_VECTOR inline Floats to_float(Ints x) { return _mm256_cvtepi32_ps(x); }

// a < b ? x : y, of signed lanes
QSIM_VECTOR inline Ints if_less(Ints a, Ints b, Ints x, Ints y) {
  return _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi32(b, a));
}
QSIM_VECTOR inline Ints replace_nan(Floats y, Ints x, Ints nan) {
  return _mm256_blendv_epi8(x, nan, _mm256_castps_si256(_mm256_cmp_ps(y, y, _CMP_UNORD_Q)));
}
QSIM_VECTOR inline Floats zero_nan(Floats y) {
  return _mm256_and_ps(y, _mm256_cmp_ps(y, y, _CMP_ORD_Q));
}
QSIM_VECTOR inline Floats canonical_nan(Floats y) {
  return lanes_of_bits(replace_nan(y, bits_of_lanes(y), all(kFp32Nan)));
}

QSIM_VECTOR inline Ints load_ints(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
QSIM_VECTOR inline void store_ints(Ints x, void* out) {
  _mm256_storeu_si256(static_cast<__m256i*>(out), x);
}
QSIM_VECTOR inline __m128i load_128(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
QSIM_VECTOR inline Floats load_fp16(const std::uint16_t* x) { return _mm256_cvtph_ps(load_128(x)); }
QSIM_VECTOR inline Ints load_words(const std::uint16_t* x) {
  return _mm256_cvtepu16_epi32(load_128(x));
}
QSIM_VECTOR inline Ints load_bytes(const std::uint8_t* x) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
}
QSIM_VECTOR inline void store_fp16(Floats y, std::uint16_t* out) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT));
}
QSIM_VECTOR inline void store_words(Ints x, std::uint16_t* out) {
  const __m128i packed =
      _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), packed);
}

// The bytes of four vectors of lanes from 0 to 255, in order.
QSIM_VECTOR inline Bytes pack_bytes(const Ints* x) {
  const Ints mixed =
      _mm256_packus_epi16(_mm256_packus_epi32(x[0], x[1]), _mm256_packus_epi32(x[2], x[3]));
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
QSIM_VECTOR inline void store_bytes(Bytes x, std::uint8_t* out) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), x);
}
// Pairs of bytes from 0 to 15, the first one low.
QSIM_VECTOR inline void store_nibbles(Bytes x, std::uint8_t* out) {
  const Ints pairs = _mm256_maddubs_epi16(x, _mm256_set1_epi16(0x1001));
  const __m128i packed =
      _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), packed);
}

// 0, 1, ... of the lanes.
QSIM_VECTOR inline Ints lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }

// 2 * kLanes bytes as words, and operations on words.
QSIM_VECTOR inline Ints widen_bytes(const std::uint8_t* q) {
  return _mm256_cvtepu8_epi16(load_128(q));
}
QSIM_VECTOR inline Ints every_word(std::uint16_t value) {
  return _mm256_set1_epi16(static_cast<short>(value));
}
template <int bits>
QSIM_VECTOR inline Ints shift_words_left(Ints x) {
  return _mm256_slli_epi16(x, bits);
}
QSIM_VECTOR inline bool any_word_above(Ints words, short bound) {
  return _mm256_movemask_epi8(_mm256_cmpgt_epi16(words, _mm256_set1_epi16(bound))) != 0;
}

// 32 nibbles as bytes, the low one of a byte first.
QSIM_VECTOR inline Bytes spread_nibbles(const std::uint8_t* q) {
  const Ints pairs = widen_bytes(q);
  const Ints spread = _mm256_or_si256(pairs, _mm256_slli_epi16(pairs, 4));
  return _mm256_and_si256(spread, _mm256_set1_epi8(15));
}

QSIM_VECTOR inline Bytes byte_table(const std::uint8_t* table) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

// The 16-bit entries of a table of 16 for 32 nibbles.
struct HalfTable {
  Bytes low, high;
};
QSIM_VECTOR inline HalfTable half_table(const std::uint16_t* table) {
  alignas(16) std::uint8_t low[16];
  alignas(16) std::uint8_t high[16];
  for (int i = 0; i < 16; ++i) {
    low[i] = static_cast<std::uint8_t>(table[i]);
    high[i] = static_cast<std::uint8_t>(table[i] >> 8);
  }
  return {byte_table(low), byte_table(high)};
}
QSIM_VECTOR inline void look_up_halves(HalfTable table, const std::uint8_t* q, std::uint16_t* out) {
  const Bytes indices = spread_nibbles(q);
  const Bytes low = _mm256_shuffle_epi8(table.low, indices);
  const Bytes high = _mm256_shuffle_epi8(table.high, indices);
  const Ints first = _mm256_unpacklo_epi8(low, high);   // words 0-7 and 16-23
  const Ints second = _mm256_unpackhi_epi8(low, high);  // words 8-15 and 24-31
  store_ints(_mm256_permute2x128_si256(first, second, 0x20), out);
  store_ints(_mm256_permute2x128_si256(first, second, 0x31), out + 16);
}

// The bytes of a table of 16 for 32 nibbles.
constexpr std::size_t kByteBlock = 32;
QSIM_VECTOR inline void look_up_bytes(Bytes table, const std::uint8_t* q, std::uint8_t* out) {
  store_bytes(_mm256_shuffle_epi8(table, spread_nibbles(q)), out);
}

}  // namespace
}  // namespace qsim::golden

#include "golden/kernels/convert/vector_scales_body.h"

namespace qsim::golden {
const ConversionKernels kAvx2Conversions = {extents, scales, encode_job, decode_job, int4_job};
}  // namespace qsim::golden
#endif
