// The conversions with AVX-512 (F, BW and VL).
#include "golden/kernels/convert/vector_conversion.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define QSIM_VECTOR __attribute__((target("avx512f,avx512bw,avx512vl,avx2,f16c,fma")))

namespace qsim::golden {
namespace {

using Floats = __m512;
using Ints = __m512i;
using Bytes = __m512i;
constexpr std::size_t kLanes = 16;

QSIM_VECTOR inline Floats every(float value) { return _mm512_set1_ps(value); }
QSIM_VECTOR inline Ints all(std::uint32_t value) {
  return _mm512_set1_epi32(static_cast<std::int32_t>(value));
}
QSIM_VECTOR inline Floats lanes_of_bits(Ints x) { return _mm512_castsi512_ps(x); }
QSIM_VECTOR inline Ints bits_of_lanes(Floats x) { return _mm512_castps_si512(x); }
QSIM_VECTOR inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
QSIM_VECTOR inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
QSIM_VECTOR inline Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
QSIM_VECTOR inline Floats multiply_subtract(Floats a, Floats b, Floats c) {
  return _mm512_fmsub_ps(a, b, c);
}
// a - b * c
QSIM_VECTOR inline Floats subtract_product(Floats a, Floats b, Floats c) {
  return _mm512_fnmadd_ps(b, c, a);
}
QSIM_VECTOR inline Floats smallest(Floats a, Floats b) { return _mm512_min_ps(a, b); }
QSIM_VECTOR inline Floats largest(Floats a, Floats b) { return _mm512_max_ps(a, b); }
QSIM_VECTOR inline Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
QSIM_VECTOR inline Ints subtract(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
QSIM_VECTOR inline Ints bits_and(Ints a, Ints b) { return _mm512_and_si512(a, b); }
QSIM_VECTOR inline Ints bits_or(Ints a, Ints b) { return _mm512_or_si512(a, b); }
QSIM_VECTOR inline Ints bits_xor(Ints a, Ints b) { return _mm512_xor_si512(a, b); }
QSIM_VECTOR inline Ints least(Ints a, Ints b) { return _mm512_min_epu32(a, b); }
QSIM_VECTOR inline Ints signed_least(Ints a, Ints b) { return _mm512_min_epi32(a, b); }
QSIM_VECTOR inline Ints signed_most(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
template <int bits>
QSIM_VECTOR inline Ints shift_left(Ints x) {
  return _mm512_slli_epi32(x, bits);
}
template <int bits>
QSIM_VECTOR inline Ints shift_right(Ints x) {
  return _mm512_srli_epi32(x, bits);
}
QSIM_VECTOR inline Ints to_nearest(Floats x) { return _mm512_cvtps_epi32(x); }
QSIM_VECTOR inline Floats to_float(Ints x) { return _mm512_cvtepi32_ps(x); }

// a < b ? x : y, of signed lanes
QSIM_VECTOR inline Ints if_less(Ints a, Ints b, Ints x, Ints y) {
  return _mm512_mask_mov_epi32(y, _mm512_cmplt_epi32_mask(a, b), x);
}
QSIM_VECTOR inline Ints replace_nan(Floats y, Ints x, Ints nan) {
  return _mm512_mask_mov_epi32(x, _mm512_cmp_ps_mask(y, y, _CMP_UNORD_Q), nan);
}
QSIM_VECTOR inline Floats zero_nan(Floats y) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, y, _CMP_ORD_Q), y);
}
QSIM_VECTOR inline Floats canonical_nan(Floats y) {
  return lanes_of_bits(replace_nan(y, bits_of_lanes(y), all(kFp32Nan)));
}

QSIM_VECTOR inline __m256i load_256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
QSIM_VECTOR inline Ints load_ints(const void* p) { return _mm512_loadu_si512(p); }
QSIM_VECTOR inline void store_ints(Ints x, void* out) { _mm512_storeu_si512(out, x); }
QSIM_VECTOR inline Floats load_fp16(const std::uint16_t* x) { return _mm512_cvtph_ps(load_256(x)); }
QSIM_VECTOR inline Ints load_words(const std::uint16_t* x) {
  return _mm512_cvtepu16_epi32(load_256(x));
}
QSIM_VECTOR inline Ints load_bytes(const std::uint8_t* x) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
QSIM_VECTOR inline void store_fp16(Floats y, std::uint16_t* out) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm512_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT));
}
QSIM_VECTOR inline void store_words(Ints x, std::uint16_t* out) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(x));
}

// The bytes of four vectors of lanes from 0 to 255, in order.
QSIM_VECTOR inline Bytes pack_bytes(const Ints* x) {
  const Ints mixed =
      _mm512_packus_epi16(_mm512_packus_epi32(x[0], x[1]), _mm512_packus_epi32(x[2], x[3]));
  const Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, mixed);
}
QSIM_VECTOR inline void store_bytes(Bytes x, std::uint8_t* out) { _mm512_storeu_si512(out, x); }
// Pairs of bytes from 0 to 15, the first one low.
QSIM_VECTOR inline void store_nibbles(Bytes x, std::uint8_t* out) {
  const Ints pairs = _mm512_maddubs_epi16(x, _mm512_set1_epi16(0x1001));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi16_epi8(pairs));
}

// 0, 1, ... of the lanes.
QSIM_VECTOR inline Ints lane_numbers() {
  return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// 2 * kLanes bytes as words, and operations on words.
QSIM_VECTOR inline Ints widen_bytes(const std::uint8_t* q) {
  return _mm512_cvtepu8_epi16(load_256(q));
}
QSIM_VECTOR inline Ints every_word(std::uint16_t value) {
  return _mm512_set1_epi16(static_cast<short>(value));
}
template <int bits>
QSIM_VECTOR inline Ints shift_words_left(Ints x) {
  return _mm512_slli_epi16(x, bits);
}
QSIM_VECTOR inline bool any_word_above(Ints words, short bound) {
  return _mm512_cmpgt_epi16_mask(words, _mm512_set1_epi16(bound)) != 0;
}

// The 16-bit entries of a table of 16 for 32 nibbles, the low one of a byte first.
using HalfTable = __m512i;
QSIM_VECTOR inline HalfTable half_table(const std::uint16_t* table) {
  return _mm512_broadcast_i64x4(load_256(table));
}
QSIM_VECTOR inline void look_up_halves(HalfTable table, const std::uint8_t* q, std::uint16_t* out) {
  const Ints pairs = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q)));
  // Indices are words; the table repeats, so bit 4 may be anything, but the others count.
  const Ints spread = _mm512_or_si512(pairs, _mm512_slli_epi32(pairs, 12));
  store_ints(_mm512_permutexvar_epi16(_mm512_and_si512(spread, _mm512_set1_epi16(15)), table), out);
}

// The bytes of a table of 16 for 64 nibbles.
constexpr std::size_t kByteBlock = 64;
QSIM_VECTOR inline Bytes byte_table(const std::uint8_t* table) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}
QSIM_VECTOR inline void look_up_bytes(Bytes table, const std::uint8_t* q, std::uint8_t* out) {
  const Ints pairs = widen_bytes(q);
  const Ints spread = _mm512_or_si512(pairs, _mm512_slli_epi16(pairs, 4));
  store_bytes(_mm512_shuffle_epi8(table, _mm512_and_si512(spread, _mm512_set1_epi8(15))), out);
}

}  // namespace
}  // namespace qsim::golden

#include "golden/kernels/convert/vector_scales_body.h"

namespace qsim::golden {
const ConversionKernels kAvx512Conversions = {extents, scales, encode_job, decode_job, int4_job};
}  // namespace qsim::golden
#endif
