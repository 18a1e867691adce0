// The kernels with AVX-512 VNNI: vpdpbusd adds four u8 x s8 products to an int32 lane, exactly
// and wrapping. Each function carries its target, so that the rest of the program stays runnable
// on processors without these instructions.
#include "golden/graph/cpu/kernels_256.h"
#include "golden/graph/cpu/kernels_512.h"

#if defined(__x86_64__)
#include <cstring>

namespace qsim::golden {
namespace {

constexpr int kTileRows = 14;
constexpr int kLanes = kLanes512;
constexpr int kVectors = kPanelChannels / kLanes;
static_assert(kVectors == 2 && kTileRows <= kMostTileRows);

QSIM_AVX512 inline __m512i broadcast_quad(const std::uint8_t* bytes) {
  std::int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return _mm512_set1_epi32(quad);
}

// Fourteen rows by two vectors keep 28 psums in registers; with two weight vectors and a broadcast
// that is 31 of 32. A step needs 16 loads for 28 multiply-adds, which two load ports and two
// multiply ports sustain.
template <int rows>
QSIM_AVX512 void multiply_rows(const TileOperands& operands, std::int32_t* acc) {
  __m512i sum[rows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sum[r][0] = _mm512_load_si512(operands.initial);
    sum[r][1] = _mm512_load_si512(operands.initial + kLanes);
  }
  // Four rows share a base register: the others are at multiples of the stride.
  const auto* first_row = static_cast<const std::uint8_t*>(operands.rows);
  const std::size_t stride = operands.row_stride;
  const std::uint8_t* base[(rows + 3) / 4];
  for (int b = 0; b < (rows + 3) / 4; ++b) {
    base[b] = first_row + 4 * static_cast<std::size_t>(b) * stride;
  }
  const std::int8_t* panel = operands.panel;
  for (std::size_t k = 0; k < operands.quads * kQuad; k += kQuad) {
    const __m512i w0 = _mm512_loadu_si512(panel);
    const __m512i w1 = _mm512_loadu_si512(panel + 64);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const __m512i x = broadcast_quad(base[r / 4] + static_cast<std::size_t>(r % 4) * stride + k);
      sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], x, w0);
      sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], x, w1);
    }
    panel += kPanelChannels * kQuad;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    _mm512_store_si512(acc + r * kPanelChannels, sum[r][0]);
    _mm512_store_si512(acc + r * kPanelChannels + kLanes, sum[r][1]);
  }
}

QSIM_AVX512 void multiply_tile(const TileOperands& operands, int row_count, std::int32_t* acc) {
  if (row_count <= 4) return multiply_rows<4>(operands, acc);
  if (row_count <= 8) return multiply_rows<8>(operands, acc);
  multiply_rows<kTileRows>(operands, acc);
}

QSIM_AVX512 inline __m128i requantize_lanes(const std::int32_t* acc, const RoundingPanel& rounding,
                                            const OutputRange& range, int first) {
  const __m512i t = _mm512_load_si512(acc + first);
  const __m512i shift = _mm512_load_si512(rounding.shift + first);
  const __m512i even =
      _mm512_and_si512(_mm512_srav_epi32(t, shift), _mm512_load_si512(rounding.even + first));
  const __m512i negative =
      _mm512_and_si512(_mm512_srai_epi32(t, 31), _mm512_load_si512(rounding.negative + first));
  const __m512i addend = _mm512_add_epi32(_mm512_load_si512(rounding.addend + first),
                                          _mm512_add_epi32(even, negative));
  const __m512i q = _mm512_add_epi32(_mm512_srav_epi32(_mm512_add_epi32(t, addend), shift),
                                     _mm512_set1_epi32(range.zero_point));
  const __m512i clamped = _mm512_min_epi32(_mm512_max_epi32(q, _mm512_set1_epi32(range.lo)),
                                           _mm512_set1_epi32(range.hi));
  return _mm512_cvtepi32_epi8(clamped);
}

QSIM_AVX512 void requantize_tile(const std::int32_t* acc, int row_count,
                                 const RoundingPanel& rounding, const OutputRange& range,
                                 int channels, std::uint8_t* out, std::size_t out_stride) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << channels) - 1);
  for (int r = 0; r < row_count; ++r) {
    const __m128i low = requantize_lanes(acc, rounding, range, 0);
    const __m128i high = requantize_lanes(acc, rounding, range, kLanes);
    _mm256_mask_storeu_epi8(out, mask, _mm256_set_m128i(high, low));
    acc += kPanelChannels;
    out += out_stride;
  }
}

// Four vectors of psums, each channel's quad of positions reduced by vpdpbusd. A known number of
// quads keeps the weights in registers.
template <int known_quads>
QSIM_AVX512 void multiply_depthwise_of(const DepthwiseOperands& operands, int row_count,
                                       std::int32_t* acc) {
  constexpr int kHeld = known_quads > 0 ? known_quads : 1;
  __m256i held[kHeld][4];
#pragma GCC unroll 3
  for (int quad = 0; quad < known_quads; ++quad) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      held[quad][j] = load_quads(operands.panel + quad * kPanelChannels * kQuad, j);
    }
  }
  const std::uint8_t* const* taps = operands.taps;
  for (int r = 0; r < row_count; ++r, acc += kPanelChannels) {
    __m256i sum[4];
    __m256i x[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sum[j] = load_psums(operands.initial, j);
    if constexpr (known_quads > 0) {
#pragma GCC unroll 3
      for (int quad = 0; quad < known_quads; ++quad, taps += kQuad) {
        interleave_taps(taps, operands.first_channel, x);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) sum[j] = _mm256_dpbusd_epi32(sum[j], x[j], held[quad][j]);
      }
    } else {
      const std::int8_t* panel = operands.panel;
      for (std::size_t quad = 0; quad < operands.quads; ++quad, taps += kQuad) {
        interleave_taps(taps, operands.first_channel, x);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          sum[j] = _mm256_dpbusd_epi32(sum[j], x[j], load_quads(panel, j));
        }
        panel += kPanelChannels * kQuad;
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) store_psums(acc, j, sum[j]);
  }
}

// Three quads are a kernel of 3 x 3.
QSIM_AVX512 void multiply_depthwise(const DepthwiseOperands& operands, int row_count,
                                    std::int32_t* acc) {
  if (operands.quads == 3) return multiply_depthwise_of<3>(operands, row_count, acc);
  multiply_depthwise_of<0>(operands, row_count, acc);
}

// Sums of one group of weight rows with x_rows pictures.
template <int x_rows>
struct DotSums {
  __m512i products[x_rows][kDotRows];
  __m512i weights[kDotRows];
};

// Adds 64 depths from k on, or those of them that `mask` names.
template <int x_rows>
QSIM_AVX512 inline void dot_step(const std::uint8_t* x, const std::int8_t* const* weights,
                                 std::size_t depth, std::size_t k, __mmask64 mask,
                                 DotSums<x_rows>& sums) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i w[kDotRows];
#pragma GCC unroll 4
  for (int j = 0; j < kDotRows; ++j) {
    w[j] = _mm512_maskz_loadu_epi8(mask, weights[j] + k);
    sums.weights[j] = _mm512_dpbusd_epi32(sums.weights[j], ones, w[j]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < x_rows; ++i) {
    const __m512i v = _mm512_maskz_loadu_epi8(mask, x + static_cast<std::size_t>(i) * depth + k);
#pragma GCC unroll 4
    for (int j = 0; j < kDotRows; ++j) {
      sums.products[i][j] = _mm512_dpbusd_epi32(sums.products[i][j], v, w[j]);
    }
  }
}

// Every loop over registers is unrolled by name: one that stays a loop keeps the sums in memory.
template <int x_rows>
QSIM_AVX512 void dot(const std::uint8_t* x, const std::int8_t* const* weights,
                     std::int32_t zero_point, std::size_t depth, std::int32_t* products) {
  constexpr std::size_t kStep = 64;
  DotSums<x_rows> sums;
#pragma GCC unroll 4
  for (int j = 0; j < kDotRows; ++j) {
    sums.weights[j] = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int i = 0; i < x_rows; ++i) sums.products[i][j] = _mm512_setzero_si512();
  }
  std::size_t k = 0;
  for (; k + kStep <= depth; k += kStep) {
    dot_step<x_rows>(x, weights, depth, k, ~__mmask64{0}, sums);
  }
  if (k < depth) {
    dot_step<x_rows>(x, weights, depth, k, (__mmask64{1} << (depth - k)) - 1, sums);
  }
#pragma GCC unroll 4
  for (int j = 0; j < kDotRows; ++j) {
    const __m512i below = _mm512_mullo_epi32(sums.weights[j], _mm512_set1_epi32(zero_point));
#pragma GCC unroll 4
    for (int i = 0; i < x_rows; ++i) {
      products[i * kDotRows + j] =
          _mm512_reduce_add_epi32(_mm512_sub_epi32(sums.products[i][j], below));
    }
  }
}

QSIM_AVX512 void dot_rows(const std::uint8_t* x, int x_rows, std::int32_t zero_point,
                          const std::int8_t* const* weights, std::size_t depth,
                          std::int32_t* products) {
  switch (x_rows) {
    case 1:
      return dot<1>(x, weights, zero_point, depth, products);
    case 2:
      return dot<2>(x, weights, zero_point, depth, products);
    case 3:
      return dot<3>(x, weights, zero_point, depth, products);
    default:
      return dot<kDotRows>(x, weights, zero_point, depth, products);
  }
}

}  // namespace

const VectorKernels kAvx512VnniKernels{
    kTileRows, RowFormat::kBytes,  multiply_tile,  requantize_tile, requantize_scaled_tile_512,
    dot_rows,  multiply_depthwise, add_float32_512};

}  // namespace qsim::golden
#endif
