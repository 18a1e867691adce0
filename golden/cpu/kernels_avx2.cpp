// The kernels with AVX2: bytes widen to 16 bits and vpmaddwd adds two products to an int32 lane.
// (vpmaddubsw would need no widening, but it saturates at 16 bits.)
#include "golden/cpu/vector_kernels.h"

#if defined(__x86_64__)
#include <cstring>

#include <immintrin.h>

#define QSIM_AVX2 __attribute__((target("avx2")))

namespace qsim::golden {
namespace {

constexpr int kLanes = 8;
constexpr int kBlockChannels = 16;  // channels of one register block
constexpr int kBlockRows = 2;
constexpr int kBlockVectors = 4;  // each holds two partial psums of four channels
static_assert(kTileRows % kBlockRows == 0 && kPanelChannels % kBlockChannels == 0);

QSIM_AVX2 inline __m256i load(const void* address) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(address));
}

QSIM_AVX2 inline __m256i widen_signed(const std::int8_t* bytes) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

QSIM_AVX2 inline __m256i widen_unsigned(const std::uint8_t* bytes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

QSIM_AVX2 inline __m256i broadcast_quad(const std::uint8_t* bytes) {
  std::int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return _mm256_cvtepu8_epi16(_mm_set1_epi32(quad));
}

// The psums of eight channels from two vectors of partial psums.
QSIM_AVX2 inline __m256i join_partials(__m256i low, __m256i high) {
  return _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0b11011000);
}

// Two rows by 16 channels, starting at the operands' first row and channel.
QSIM_AVX2 void multiply_block(const TileOperands& operands, std::int32_t* acc) {
  __m256i sum[kBlockRows][kBlockVectors];
  for (auto& row : sum) {
    for (__m256i& vector : row) vector = _mm256_setzero_si256();
  }
  const std::int8_t* panel = operands.panel;
  for (std::size_t k = 0; k < operands.quads * kQuad; k += kQuad) {
    __m256i x[kBlockRows];
#pragma GCC unroll 2
    for (int r = 0; r < kBlockRows; ++r) {
      x[r] = broadcast_quad(operands.rows + static_cast<std::size_t>(r) * operands.row_stride + k);
    }
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; ++v) {
      const __m256i w = widen_signed(panel + v * 16);
#pragma GCC unroll 2
      for (int r = 0; r < kBlockRows; ++r) {
        sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(x[r], w));
      }
    }
    panel += kPanelChannels * kQuad;
  }
  for (int r = 0; r < kBlockRows; ++r) {
    for (int half = 0; half < 2; ++half) {
      const __m256i psums = join_partials(sum[r][2 * half], sum[r][2 * half + 1]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + r * kPanelChannels + half * kLanes),
                          _mm256_add_epi32(psums, load(operands.initial + half * kLanes)));
    }
  }
}

QSIM_AVX2 void multiply_tile(const TileOperands& operands, int row_count, std::int32_t* acc) {
  for (int channel = 0; channel < kPanelChannels; channel += kBlockChannels) {
    for (int row = 0; row < row_count; row += kBlockRows) {
      TileOperands block = operands;
      block.rows += static_cast<std::size_t>(row) * operands.row_stride;
      block.panel += channel * kQuad;
      block.initial += channel;
      multiply_block(block, acc + row * kPanelChannels + channel);
    }
  }
}

QSIM_AVX2 inline __m256i requantize_lanes(const std::int32_t* acc, const RoundingPanel& rounding,
                                          const OutputRange& range, int first) {
  const __m256i t = load(acc + first);
  const __m256i shift = load(rounding.shift + first);
  const __m256i even = _mm256_and_si256(_mm256_srav_epi32(t, shift), load(rounding.even + first));
  const __m256i negative =
      _mm256_and_si256(_mm256_srai_epi32(t, 31), load(rounding.negative + first));
  const __m256i addend =
      _mm256_add_epi32(load(rounding.addend + first), _mm256_add_epi32(even, negative));
  const __m256i q = _mm256_add_epi32(_mm256_srav_epi32(_mm256_add_epi32(t, addend), shift),
                                     _mm256_set1_epi32(range.zero_point));
  const __m256i clamped = _mm256_min_epi32(_mm256_max_epi32(q, _mm256_set1_epi32(range.lo)),
                                           _mm256_set1_epi32(range.hi));
  return _mm256_and_si256(clamped, _mm256_set1_epi32(0xFF));
}

QSIM_AVX2 void requantize_tile(const std::int32_t* acc, int row_count,
                               const RoundingPanel& rounding, const OutputRange& range,
                               int channels, std::uint8_t* out, std::size_t out_stride) {
  // Packing works within 128-bit halves; this order of 4-byte groups undoes it.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int r = 0; r < row_count; ++r) {
    const __m256i low = _mm256_packus_epi32(requantize_lanes(acc, rounding, range, 0),
                                            requantize_lanes(acc, rounding, range, kLanes));
    const __m256i high = _mm256_packus_epi32(requantize_lanes(acc, rounding, range, 2 * kLanes),
                                             requantize_lanes(acc, rounding, range, 3 * kLanes));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
    alignas(32) std::uint8_t stored[kPanelChannels];
    _mm256_store_si256(reinterpret_cast<__m256i*>(stored), bytes);
    std::memcpy(out, stored, static_cast<std::size_t>(channels));
    acc += kPanelChannels;
    out += out_stride;
  }
}

QSIM_AVX2 inline std::int32_t sum_lanes(__m256i vector) {
  const __m256i pairs = _mm256_hadd_epi32(vector, vector);
  const __m256i quads = _mm256_hadd_epi32(pairs, pairs);
  return _mm_cvtsi128_si32(
      _mm_add_epi32(_mm256_castsi256_si128(quads), _mm256_extracti128_si256(quads, 1)));
}

// The parts of a dot product beyond the last whole vector.
std::int32_t dot_tail(const std::uint8_t* x, const std::int8_t* w, std::size_t first,
                      std::size_t depth) {
  std::int32_t sum = 0;
  for (std::size_t k = first; k < depth; ++k) sum += x[k] * w[k];
  return sum;
}

std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

QSIM_AVX2 void dot_one(const std::uint8_t* x, const std::int8_t* const* weights, std::size_t depth,
                       std::int32_t* products) {
  constexpr std::size_t kStep = 16;
  const std::size_t whole = depth / kStep * kStep;
  __m256i sum[kDotRows];
  for (__m256i& vector : sum) vector = _mm256_setzero_si256();
  for (std::size_t k = 0; k < whole; k += kStep) {
    const __m256i v = widen_unsigned(x + k);
#pragma GCC unroll 4
    for (int j = 0; j < kDotRows; ++j) {
      sum[j] = _mm256_add_epi32(sum[j], _mm256_madd_epi16(v, widen_signed(weights[j] + k)));
    }
  }
  for (int j = 0; j < kDotRows; ++j) {
    products[j] = wrapping_add(sum_lanes(sum[j]), dot_tail(x, weights[j], whole, depth));
  }
}

QSIM_AVX2 void sum_rows(const std::int8_t* const* weights, std::size_t depth,
                        std::int32_t* weight_sums) {
  constexpr std::size_t kStep = 16;
  const std::size_t whole = depth / kStep * kStep;
  const __m256i ones = _mm256_set1_epi16(1);
  for (int j = 0; j < kDotRows; ++j) {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t k = 0; k < whole; k += kStep) {
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(ones, widen_signed(weights[j] + k)));
    }
    std::int32_t tail = 0;
    for (std::size_t k = whole; k < depth; ++k) tail += weights[j][k];
    weight_sums[j] = wrapping_add(sum_lanes(sum), tail);
  }
}

QSIM_AVX2 void dot_rows(const std::uint8_t* x, int x_rows, const std::int8_t* const* weights,
                        std::size_t depth, std::int32_t* products, std::int32_t* weight_sums) {
  sum_rows(weights, depth, weight_sums);
  for (int i = 0; i < x_rows; ++i) {
    dot_one(x + static_cast<std::size_t>(i) * depth, weights, depth, products + i * kDotRows);
  }
}

}  // namespace

const VectorKernels kAvx2Kernels{multiply_tile, requantize_tile, dot_rows};

}  // namespace qsim::golden
#endif
