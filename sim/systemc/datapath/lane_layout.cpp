#include "sim/systemc/datapath/lane_layout.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

#define QSIM_AVX2 __attribute__((target("avx2")))

namespace qsim::sim {
namespace {

__m128i load16(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
__m128i load8(const void* from) { return _mm_loadl_epi64(static_cast<const __m128i*>(from)); }
void store16(void* to, __m128i value) { _mm_storeu_si128(static_cast<__m128i*>(to), value); }

QSIM_AVX2 __m256i load32(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
QSIM_AVX2 void store32(void* to, __m256i value) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

__m128i widen(__m128i bytes) { return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8); }

// What a lane has of the bytes that it is made of.
enum class Lane {
  kBiasedBytes,  // four bytes, 128 added to each
  kBytes,        // four bytes
  kPairs,        // two bytes as int16
};

// Four lanes (16 or 8 channels) of one pixel.
template <Lane kLane>
__m128i four_lanes(const std::int8_t* channels) {
  if constexpr (kLane == Lane::kBiasedBytes) {
    return _mm_xor_si128(load16(channels), _mm_set1_epi8(-128));
  } else if constexpr (kLane == Lane::kBytes) {
    return load16(channels);
  } else {
    return widen(load8(channels));
  }
}

template <Lane kLane>
constexpr std::size_t kLaneChannels = kLane == Lane::kPairs ? 2 : 4;

template <Lane kLane>
std::uint32_t one_lane(const std::int8_t* channels) {
  if constexpr (kLane != Lane::kPairs) {
    std::uint32_t lane = 0;
    std::memcpy(&lane, channels, sizeof lane);
    return kLane == Lane::kBiasedBytes ? lane ^ 0x80808080u : lane;
  } else {
    return static_cast<std::uint16_t>(channels[0]) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(channels[1])) << 16;
  }
}

// Four pixels with one lane each.
template <Lane kLane>
void lay_group_1(const std::int8_t* words, std::uint32_t* lanes) {
  store16(lanes, four_lanes<kLane>(words));
}

// Four pixels with two lanes each.
template <Lane kLane>
void lay_group_2(const std::int8_t* words, std::size_t pitch, std::uint32_t* lanes) {
  const __m128 a = _mm_castsi128_ps(four_lanes<kLane>(words));
  const __m128 b = _mm_castsi128_ps(four_lanes<kLane>(words + 4 * kLaneChannels<kLane>));
  store16(lanes, _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)));
  store16(lanes + pitch, _mm_castps_si128(_mm_shuffle_ps(a, b, 0xDD)));
}

// Four pixels, four of their lanes: a 4 x 4 transposition.
template <Lane kLane>
void lay_group_4(const std::int8_t* words, std::size_t word_bytes, std::size_t pitch,
                 std::uint32_t* lanes) {
  const __m128i p0 = four_lanes<kLane>(words);
  const __m128i p1 = four_lanes<kLane>(words + word_bytes);
  const __m128i p2 = four_lanes<kLane>(words + 2 * word_bytes);
  const __m128i p3 = four_lanes<kLane>(words + 3 * word_bytes);
  const __m128i low01 = _mm_unpacklo_epi32(p0, p1);
  const __m128i low23 = _mm_unpacklo_epi32(p2, p3);
  const __m128i high01 = _mm_unpackhi_epi32(p0, p1);
  const __m128i high23 = _mm_unpackhi_epi32(p2, p3);
  store16(lanes, _mm_unpacklo_epi64(low01, low23));
  store16(lanes + pitch, _mm_unpackhi_epi64(low01, low23));
  store16(lanes + 2 * pitch, _mm_unpacklo_epi64(high01, high23));
  store16(lanes + 3 * pitch, _mm_unpackhi_epi64(high01, high23));
}

// Four pixels, eight lanes of pairs each: two such transpositions at once.
QSIM_AVX2 void lay_pairs_8(const std::int8_t* words, std::size_t word_bytes, std::size_t pitch,
                           std::uint32_t* lanes) {
  const __m256i p0 = _mm256_cvtepi8_epi16(load16(words));
  const __m256i p1 = _mm256_cvtepi8_epi16(load16(words + word_bytes));
  const __m256i p2 = _mm256_cvtepi8_epi16(load16(words + 2 * word_bytes));
  const __m256i p3 = _mm256_cvtepi8_epi16(load16(words + 3 * word_bytes));
  const __m256i low01 = _mm256_unpacklo_epi32(p0, p1);
  const __m256i low23 = _mm256_unpacklo_epi32(p2, p3);
  const __m256i high01 = _mm256_unpackhi_epi32(p0, p1);
  const __m256i high23 = _mm256_unpackhi_epi32(p2, p3);
  const __m256i steps[] = {_mm256_unpacklo_epi64(low01, low23), _mm256_unpackhi_epi64(low01, low23),
                           _mm256_unpacklo_epi64(high01, high23),
                           _mm256_unpackhi_epi64(high01, high23)};
#pragma GCC unroll 4
  for (std::size_t s = 0; s < 4; ++s) {
    store16(lanes + s * pitch, _mm256_castsi256_si128(steps[s]));
    store16(lanes + (s + 4) * pitch, _mm256_extracti128_si256(steps[s], 1));
  }
}

template <Lane kLane>
QSIM_AVX2 void lay_group(const std::int8_t* words, std::size_t word_bytes, std::size_t pitch,
                         std::uint32_t* lanes) {
  const std::size_t steps = word_bytes / kLaneChannels<kLane>;
  if (steps == 1) return lay_group_1<kLane>(words, lanes);
  if (steps == 2) return lay_group_2<kLane>(words, pitch, lanes);
  if (kLane == Lane::kPairs && steps >= 8) {
    for (std::size_t s = 0; s < steps; s += 8) {
      lay_pairs_8(words + 2 * s, word_bytes, pitch, lanes + s * pitch);
    }
    return;
  }
  for (std::size_t s = 0; s < steps; s += 4) {
    lay_group_4<kLane>(words + s * kLaneChannels<kLane>, word_bytes, pitch, lanes + s * pitch);
  }
}

template <Lane kLane>
QSIM_AVX2 void lay_pixels_as(const std::int8_t* words, std::size_t count, std::size_t word_bytes,
                             std::size_t pitch, std::uint32_t* lanes) {
  if (count < 4) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t s = 0; s < word_bytes / kLaneChannels<kLane>; ++s) {
        lanes[s * pitch + i] = one_lane<kLane>(words + i * word_bytes + s * kLaneChannels<kLane>);
      }
    }
    return;
  }
  for (std::size_t i = 0; i + 4 <= count; i += 4) {
    lay_group<kLane>(words + i * word_bytes, word_bytes, pitch, lanes + i);
  }
  // The last group overlaps the one before it where four does not divide the count.
  if (count % 4 != 0) {
    lay_group<kLane>(words + (count - 4) * word_bytes, word_bytes, pitch, lanes + count - 4);
  }
}

// Four words of 4, 8, or 16 of the columns as lanes of four bytes.
void lay_quads_4(const std::int8_t* words, std::uint32_t* lanes) {
  const __m128i all = load16(words);
  const __m128i ab = _mm_unpacklo_epi8(all, _mm_srli_si128(all, 4));
  const __m128i cd = _mm_unpacklo_epi8(_mm_srli_si128(all, 8), _mm_srli_si128(all, 12));
  store16(lanes, _mm_unpacklo_epi16(ab, cd));
}

void lay_quads_8(const std::int8_t* words, std::uint32_t* lanes) {
  const __m128i ab = _mm_unpacklo_epi8(load8(words), load8(words + 8));
  const __m128i cd = _mm_unpacklo_epi8(load8(words + 16), load8(words + 24));
  store16(lanes, _mm_unpacklo_epi16(ab, cd));
  store16(lanes + 4, _mm_unpackhi_epi16(ab, cd));
}

void lay_quads_16(const std::int8_t* words, std::size_t columns, std::uint32_t* lanes) {
  const __m128i a = load16(words);
  const __m128i b = load16(words + columns);
  const __m128i c = load16(words + 2 * columns);
  const __m128i d = load16(words + 3 * columns);
  const __m128i ab_low = _mm_unpacklo_epi8(a, b);
  const __m128i ab_high = _mm_unpackhi_epi8(a, b);
  const __m128i cd_low = _mm_unpacklo_epi8(c, d);
  const __m128i cd_high = _mm_unpackhi_epi8(c, d);
  store16(lanes, _mm_unpacklo_epi16(ab_low, cd_low));
  store16(lanes + 4, _mm_unpackhi_epi16(ab_low, cd_low));
  store16(lanes + 8, _mm_unpacklo_epi16(ab_high, cd_high));
  store16(lanes + 12, _mm_unpackhi_epi16(ab_high, cd_high));
}

// 128 times the sum of each lane's four bytes: two and two of them first, at most 256 in magnitude.
QSIM_AVX2 __m128i sums_by_128(__m128i quads) {
  return _mm_madd_epi16(_mm_maddubs_epi16(_mm_set1_epi8(1), quads), _mm_set1_epi16(128));
}
QSIM_AVX2 __m256i sums_by_128(__m256i quads) {
  return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), quads),
                           _mm256_set1_epi16(128));
}

// sub_weight_sums() of 4 columns, and of kVectors x 8 of them.
QSIM_AVX2 void sub_sums_4(const std::uint32_t* lanes, std::size_t steps, std::uint32_t* sums) {
  __m128i sum = load16(sums);
  for (std::size_t i = 0; i < steps; ++i) {
    sum = _mm_sub_epi32(sum, sums_by_128(load16(lanes + 4 * i)));
  }
  store16(sums, sum);
}

template <std::size_t kVectors>
QSIM_AVX2 void sub_sums_8s(const std::uint32_t* lanes, std::size_t steps, std::size_t columns,
                           std::uint32_t* sums) {
  __m256i sum[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) sum[v] = load32(sums + 8 * v);
  for (std::size_t i = 0; i < steps; ++i, lanes += columns) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[v] = _mm256_sub_epi32(sum[v], sums_by_128(load32(lanes + 8 * v)));
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) store32(sums + 8 * v, sum[v]);
}

}  // namespace

QSIM_AVX2 void copy_lane_run(const std::uint32_t* from, std::size_t count, std::uint32_t* to) {
  for (std::size_t i = 0; i < count; i += 8) {
    store32(to + i, load32(from + i));
  }
}

void lay_pixels(const std::int8_t* words, std::size_t count, std::size_t word_bytes,
                OperandFormat format, std::size_t pitch, std::uint32_t* lanes) {
  if (format == OperandFormat::kBiasedBytes) {
    lay_pixels_as<Lane::kBiasedBytes>(words, count, word_bytes, pitch, lanes);
  } else {
    lay_pixels_as<Lane::kPairs>(words, count, word_bytes, pitch, lanes);
  }
}

void lay_channels(const std::int8_t* words, std::size_t count, std::size_t word_bytes,
                  OperandFormat format, std::uint32_t* lanes) {
  if (format == OperandFormat::kBiasedBytes) {
    lay_pixels_as<Lane::kBytes>(words, count, word_bytes, count, lanes);
  } else {
    lay_pixels_as<Lane::kPairs>(words, count, word_bytes, count, lanes);
  }
}

void lay_weight_quads(const std::int8_t* weights, std::size_t steps, std::size_t columns,
                      std::uint32_t* lanes) {
  for (std::size_t i = 0; i < steps; ++i, weights += 4 * columns, lanes += columns) {
    if (columns == 4) {
      lay_quads_4(weights, lanes);
    } else if (columns == 8) {
      lay_quads_8(weights, lanes);
    } else {
      for (std::size_t c = 0; c < columns; c += 16) lay_quads_16(weights + c, columns, lanes + c);
    }
  }
}

QSIM_AVX2 void lay_weight_pairs(const std::int8_t* weights, std::size_t steps, std::size_t columns,
                                std::uint32_t* lanes) {
  for (std::size_t i = 0; i < steps; ++i, weights += 2 * columns, lanes += columns) {
    const std::int8_t* next = weights + columns;
    if (columns == 4) {  // only the lower half of each register is meant
      store16(lanes, widen(_mm_unpacklo_epi8(load8(weights), load8(next))));
    } else if (columns == 8) {
      store32(lanes, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(load8(weights), load8(next))));
    } else {
      for (std::size_t c = 0; c < columns; c += 16) {
        const __m128i a = load16(weights + c);
        const __m128i b = load16(next + c);
        store32(lanes + c, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b)));
        store32(lanes + c + 8, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b)));
      }
    }
  }
}

QSIM_AVX2 void sub_weight_sums(const std::uint32_t* lanes, std::size_t steps, std::size_t columns,
                               std::uint32_t* sums) {
  if (columns == 4) return sub_sums_4(lanes, steps, sums);
  if (columns == 8) return sub_sums_8s<1>(lanes, steps, columns, sums);
  for (std::size_t c = 0; c < columns; c += 16) {
    sub_sums_8s<2>(lanes + c, steps, columns, sums + c);
  }
}

}  // namespace qsim::sim

#endif  // defined(__x86_64__)
