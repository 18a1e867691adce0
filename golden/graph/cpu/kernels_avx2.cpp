// The kernels with AVX2: vpmaddwd adds two products of 16-bit words to an int32 lane, exactly.
// Activations arrive as words; weights widen as they are loaded. (vpmaddubsw would need no words,
// but it saturates at 16 bits: 255 * 127 * 2 does not fit.)
#include "golden/graph/cpu/kernels_256.h"

#if defined(__x86_64__)
#include <cstring>

namespace qsim::golden {
namespace {

constexpr int kBlockChannels = 8;  // each vector of psums has two partial psums of four channels

QSIM_AVX2 inline __m256i widen_signed(const std::int8_t* bytes) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

QSIM_AVX2 inline __m256i widen_unsigned(const std::uint8_t* bytes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

QSIM_AVX2 inline __m256i broadcast_quad(const std::uint16_t* words) {
  std::int64_t quad;
  std::memcpy(&quad, words, sizeof quad);
  return _mm256_set1_epi64x(quad);
}

// The psums of eight channels from two vectors of partial psums.
QSIM_AVX2 inline __m256i join_partials(__m256i low, __m256i high) {
  return _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0b11011000);
}

// Twelve sums, two weight vectors, an activation and a product are all sixteen registers. The
// assembly adds in place: left to itself the compiler spills some sums in each step.
QSIM_AVX2 inline void multiply_add(__m256i& sum, __m256i x, __m256i w) {
  const __m256i product = _mm256_madd_epi16(x, w);
  asm("vpaddd %1, %0, %0" : "+x"(sum) : "x"(product));
}

QSIM_AVX2 void multiply_block(const BlockOperands& block, std::int32_t* acc) {
  __m256i sum[kBlockRows][kBlockVectors];
#pragma GCC unroll 6
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_si256();
  const std::size_t stride = block.row_stride;
  const auto* upper = static_cast<const std::uint16_t*>(block.rows);
  const std::uint16_t* lower = upper + 3 * stride;  // row 3
  const std::int8_t* panel = block.panel;
  for (std::size_t quad = 0; quad < block.quads; ++quad) {
    const __m256i w0 = widen_signed(panel);
    const __m256i w1 = widen_signed(panel + 16);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kBlockRows; ++r) {
      const __m256i x = broadcast_quad(r < 3 ? upper + r * stride : lower + (r - 3) * stride);
      multiply_add(sum[r][0], x, w0);
      multiply_add(sum[r][1], x, w1);
    }
    upper += kQuad;
    lower += kQuad;
    panel += kPanelChannels * kQuad;
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kBlockRows; ++r) {
    const __m256i start = load256(block.start + r * block.start_stride);
    store256(acc + r * kPanelChannels,
             _mm256_add_epi32(start, join_partials(sum[r][0], sum[r][1])));
  }
}

void multiply_tile(const TileOperands& operands, int row_count, std::int32_t* acc) {
  multiply_in_blocks<std::uint16_t, kBlockChannels>(operands, row_count, acc, multiply_block);
}

QSIM_AVX2 inline __m256i requantize_lanes(const std::int32_t* acc, const RoundingPanel& rounding,
                                          const OutputRange& range, int first) {
  const __m256i t = load256(acc + first);
  const __m256i shift = load256(rounding.shift + first);
  const __m256i even =
      _mm256_and_si256(_mm256_srav_epi32(t, shift), load256(rounding.even + first));
  const __m256i negative =
      _mm256_and_si256(_mm256_srai_epi32(t, 31), load256(rounding.negative + first));
  const __m256i addend =
      _mm256_add_epi32(load256(rounding.addend + first), _mm256_add_epi32(even, negative));
  const __m256i q = _mm256_add_epi32(_mm256_srav_epi32(_mm256_add_epi32(t, addend), shift),
                                     _mm256_set1_epi32(range.zero_point));
  const __m256i clamped = _mm256_min_epi32(_mm256_max_epi32(q, _mm256_set1_epi32(range.lo)),
                                           _mm256_set1_epi32(range.hi));
  return _mm256_and_si256(clamped, _mm256_set1_epi32(0xFF));
}

// sum + the four products of each channel: those of even positions, then of odd ones.
QSIM_AVX2 inline __m256i add_quads(__m256i sum, __m256i x, __m256i w) {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xFF)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

// Four vectors of psums, each channel's quad of positions reduced by vpmaddwd.
QSIM_AVX2 void multiply_depthwise(const DepthwiseOperands& operands, int row_count,
                                  std::int32_t* acc) {
  const std::uint8_t* const* taps = operands.taps;
  for (int r = 0; r < row_count; ++r, acc += kPanelChannels) {
    __m256i sum[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sum[j] = load_psums(operands.initial, j);
    const std::int8_t* panel = operands.panel;
    for (std::size_t quad = 0; quad < operands.quads; ++quad, taps += kQuad) {
      __m256i x[4];
      interleave_taps(taps, operands.first_channel, x);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sum[j] = add_quads(sum[j], x[j], load_quads(panel, j));
      panel += kPanelChannels * kQuad;
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) store_psums(acc, j, sum[j]);
  }
}

// Dot products of x_rows pictures with w_rows rows of weights. x - zero_point fits a word, so that
// vpmaddwd takes the difference itself.
struct Dot {
  template <int x_rows, int w_rows>
  QSIM_AVX2 static void products(const std::uint8_t* x, std::int32_t zero_point,
                                 const std::int8_t* const* weights, std::size_t depth,
                                 std::int32_t* out) {
    constexpr std::size_t kStep = 16;
    const __m256i zero = _mm256_set1_epi16(static_cast<std::int16_t>(zero_point));
    __m256i sum[x_rows][w_rows];
#pragma GCC unroll 4
    for (auto& row : sum) {
#pragma GCC unroll 4
      for (__m256i& vector : row) vector = _mm256_setzero_si256();
    }
    for (std::size_t k = 0; k + kStep <= depth; k += kStep) {
      __m256i w[w_rows];
#pragma GCC unroll 4
      for (int j = 0; j < w_rows; ++j) w[j] = widen_signed(weights[j] + k);
#pragma GCC unroll 4
      for (int i = 0; i < x_rows; ++i) {
        const std::uint8_t* row = x + static_cast<std::size_t>(i) * depth;
        const __m256i v = _mm256_sub_epi16(widen_unsigned(row + k), zero);
#pragma GCC unroll 4
        for (int j = 0; j < w_rows; ++j) {
          sum[i][j] = _mm256_add_epi32(sum[i][j], _mm256_madd_epi16(v, w[j]));
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < x_rows; ++i) {
      const std::uint8_t* row = x + static_cast<std::size_t>(i) * depth;
#pragma GCC unroll 4
      for (int j = 0; j < w_rows; ++j) {
        out[i * kDotRows + j] =
            add_tail<kStep>(sum_lanes(sum[i][j]), row, zero_point, weights[j], depth);
      }
    }
  }
};

}  // namespace

QSIM_AVX2 void requantize_tile_256(const std::int32_t* acc, int row_count,
                                   const RoundingPanel& rounding, const OutputRange& range,
                                   int channels, std::uint8_t* out, std::size_t out_stride) {
  for (int r = 0; r < row_count; ++r) {
    const __m256i levels[4] = {requantize_lanes(acc, rounding, range, 0),
                               requantize_lanes(acc, rounding, range, kLanes256),
                               requantize_lanes(acc, rounding, range, 2 * kLanes256),
                               requantize_lanes(acc, rounding, range, 3 * kLanes256)};
    store_levels(levels, channels, out);
    acc += kPanelChannels;
    out += out_stride;
  }
}

const VectorKernels kAvx2Kernels{kTileRows256,
                                 RowFormat::kWords,
                                 multiply_tile,
                                 requantize_tile_256,
                                 requantize_scaled_tile_256,
                                 dot_rows_256<Dot>,
                                 multiply_depthwise,
                                 add_float32_256};

}  // namespace qsim::golden
#endif
