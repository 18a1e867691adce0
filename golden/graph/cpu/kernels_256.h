// What the kernels on 256-bit registers, with AVX2 and with AVX-VNNI, have in common. x86-64 only.
#pragma once

#include "golden/graph/cpu/vector_kernels.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

#include <immintrin.h>

#define QSIM_AVX2 __attribute__((target("avx2")))

namespace qsim::golden {

inline constexpr int kLanes256 = 8;
// Sixteen registers: six rows by two vectors of psums, two weight vectors, an activation and a
// product. A step is two loads of weights and six of activations for twelve multiply-adds.
inline constexpr int kBlockRows = 6;
inline constexpr int kBlockVectors = 2;
inline constexpr int kTileRows256 = 2 * kBlockRows;
// Depth that all blocks of a tile take before the next: this much of a panel and of the tile's
// rows is at home in a first-level cache of 32 KiB.
inline constexpr std::size_t kSliceQuads = 128;
static_assert(kTileRows256 <= kMostTileRows);

QSIM_AVX2 inline __m256i load256(const void* address) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(address));
}

QSIM_AVX2 inline void store256(void* address, __m256i vector) {
  _mm256_storeu_si256(static_cast<__m256i*>(address), vector);
}

QSIM_AVX2 inline std::int32_t sum_lanes(__m256i vector) {
  const __m256i pairs = _mm256_hadd_epi32(vector, vector);
  const __m256i quads = _mm256_hadd_epi32(pairs, pairs);
  return _mm_cvtsi128_si32(
      _mm_add_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1)));
}

// The lowest bytes of four times eight levels, which are 0..255, to `out`: the first `channels` of
// them.
QSIM_AVX2 inline void store_levels(const __m256i (&levels)[4], int channels, std::uint8_t* out) {
  // Packing works within 128-bit halves; this order of 4-byte groups undoes it.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i low = _mm256_packus_epi32(levels[0], levels[1]);
  const __m256i high = _mm256_packus_epi32(levels[2], levels[3]);
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
  alignas(32) std::uint8_t stored[kPanelChannels];
  _mm256_store_si256(reinterpret_cast<__m256i*>(stored), bytes);
  std::memcpy(out, stored, static_cast<std::size_t>(channels));
}

// A vector of two 128-bit halves; the depthwise kernels' vector j has the channels 4j..4j+3 and
// 16+4j..16+4j+3 of a panel.
QSIM_AVX2 inline __m256i load_halves(const void* low, const void* high) {
  const __m128i first = _mm_loadu_si128(static_cast<const __m128i*>(low));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first),
                                 _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
}

QSIM_AVX2 inline __m256i load_psums(const std::int32_t* psums, int j) {
  return load_halves(psums + 4 * j, psums + 16 + 4 * j);
}

QSIM_AVX2 inline void store_psums(std::int32_t* psums, int j, __m256i vector) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(psums + 4 * j), _mm256_castsi256_si128(vector));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(psums + 16 + 4 * j),
                   _mm256_extracti128_si256(vector, 1));
}

// The four bytes of each channel's quad.
QSIM_AVX2 inline __m256i load_quads(const std::int8_t* panel, int j) {
  return load_halves(panel + 16 * j, panel + 64 + 16 * j);
}

// Four positions of 32 channels, side by side by channel: x[j] as above.
QSIM_AVX2 inline void interleave_taps(const std::uint8_t* const* taps, std::size_t first,
                                      __m256i (&x)[4]) {
  const __m256i x0 = load256(taps[0] + first);
  const __m256i x1 = load256(taps[1] + first);
  const __m256i x2 = load256(taps[2] + first);
  const __m256i x3 = load256(taps[3] + first);
  const __m256i low01 = _mm256_unpacklo_epi8(x0, x1);
  const __m256i high01 = _mm256_unpackhi_epi8(x0, x1);
  const __m256i low23 = _mm256_unpacklo_epi8(x2, x3);
  const __m256i high23 = _mm256_unpackhi_epi8(x2, x3);
  x[0] = _mm256_unpacklo_epi16(low01, low23);
  x[1] = _mm256_unpackhi_epi16(low01, low23);
  x[2] = _mm256_unpacklo_epi16(high01, high23);
  x[3] = _mm256_unpackhi_epi16(high01, high23);
}

// What a dot product has beyond its last whole vector of `step` depths, added to `sum`.
template <std::size_t step>
std::int32_t add_tail(std::int32_t sum, const std::uint8_t* x, std::int32_t zero_point,
                      const std::int8_t* weights, std::size_t depth) {
  auto total = static_cast<std::uint32_t>(sum);
  for (std::size_t k = depth / step * step; k < depth; ++k) {
    total += static_cast<std::uint32_t>((x[k] - zero_point) * weights[k]);
  }
  return static_cast<std::int32_t>(total);
}

// One block of kBlockRows rows: a slice of its depth, and the channels of kBlockVectors vectors.
struct BlockOperands {
  const void* rows;
  std::size_t row_stride;  // elements
  const std::int8_t* panel;
  std::size_t quads;
  const std::int32_t* start;  // row r's psums start at start[r * start_stride]
  std::size_t start_stride;
};

// A tile as slices of depth, blocks of rows and blocks of `channels`; `multiply_block` does one:
// acc[r][c] = start[r][c] + what the slice adds.
template <typename Element, int channels, typename MultiplyBlock>
void multiply_in_blocks(const TileOperands& operands, int row_count, std::int32_t* acc,
                        MultiplyBlock multiply_block) {
  static_assert(kPanelChannels % channels == 0);
  const auto* rows = static_cast<const Element*>(operands.rows);
  for (std::size_t quad = 0; quad < operands.quads; quad += kSliceQuads) {
    const std::size_t quads = std::min(kSliceQuads, operands.quads - quad);
    for (int row = 0; row < row_count; row += kBlockRows) {
      for (int channel = 0; channel < kPanelChannels; channel += channels) {
        std::int32_t* psums = acc + row * kPanelChannels + channel;
        const bool first = quad == 0;
        multiply_block(
            BlockOperands{rows + static_cast<std::size_t>(row) * operands.row_stride + quad * kQuad,
                          operands.row_stride,
                          operands.panel +
                              (quad * kPanelChannels + static_cast<std::size_t>(channel)) * kQuad,
                          quads, first ? operands.initial + channel : psums,
                          first ? 0 : static_cast<std::size_t>(kPanelChannels)},
            psums);
      }
    }
  }
}

// Several pictures take two rows of weights at a time: their sums fill the registers.
template <typename Dot, int x_rows>
void dot_pairs(const std::uint8_t* x, std::int32_t zero_point, const std::int8_t* const* weights,
               std::size_t depth, std::int32_t* out) {
  static_assert(kDotRows == 4);
  Dot::template products<x_rows, 2>(x, zero_point, weights, depth, out);
  Dot::template products<x_rows, 2>(x, zero_point, weights + 2, depth, out + 2);
}

// VectorKernels::dot_rows of a path. Dot::products<x_rows, w_rows> computes the dot products of
// x_rows pictures with w_rows rows of weights.
template <typename Dot>
void dot_rows_256(const std::uint8_t* x, int x_rows, std::int32_t zero_point,
                  const std::int8_t* const* weights, std::size_t depth, std::int32_t* out) {
  switch (x_rows) {
    case 1:
      return Dot::template products<1, kDotRows>(x, zero_point, weights, depth, out);
    case 2:
      return dot_pairs<Dot, 2>(x, zero_point, weights, depth, out);
    case 3:
      return dot_pairs<Dot, 3>(x, zero_point, weights, depth, out);
    default:
      return dot_pairs<Dot, kDotRows>(x, zero_point, weights, depth, out);
  }
}

// kAvx2Kernels.add_float32
void add_float32_256(const AddOperands& operands, const std::uint8_t* a, const std::uint8_t* b,
                     std::uint8_t* out, std::size_t count);

// kAvx2Kernels.requantize_tile
void requantize_tile_256(const std::int32_t* acc, int row_count, const RoundingPanel& rounding,
                         const OutputRange& range, int channels, std::uint8_t* out,
                         std::size_t out_stride);

// kAvx2Kernels.requantize_scaled_tile
void requantize_scaled_tile_256(const std::int32_t* acc, int row_count,
                                const RequantizerPanel& panel, const OutputRange& range,
                                int channels, std::uint8_t* out, std::size_t out_stride);

}  // namespace qsim::golden
#endif
