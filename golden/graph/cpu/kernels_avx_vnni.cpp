// The kernels with AVX-VNNI: vpdpbusd on 256-bit registers adds four u8 x s8 products to an int32
// lane, exactly and wrapping. For processors that have it and no AVX-512.
#include "golden/graph/cpu/kernels_256.h"

#if defined(__x86_64__)
#include <cstring>

#define QSIM_AVX_VNNI __attribute__((target("avx2,avxvnni")))

namespace qsim::golden {
namespace {

constexpr int kBlockChannels = kBlockVectors * kLanes256;

QSIM_AVX_VNNI inline __m256i broadcast_quad(const std::uint8_t* bytes) {
  std::int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return _mm256_set1_epi32(quad);
}

QSIM_AVX_VNNI void multiply_block(const BlockOperands& block, std::int32_t* acc) {
  __m256i sum[kBlockRows][kBlockVectors];
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kBlockRows; ++r) {
    sum[r][0] = load256(block.start + r * block.start_stride);
    sum[r][1] = load256(block.start + r * block.start_stride + kLanes256);
  }
  const std::size_t stride = block.row_stride;
  const auto* upper = static_cast<const std::uint8_t*>(block.rows);
  const std::uint8_t* lower = upper + 3 * stride;  // row 3
  const std::int8_t* panel = block.panel;
  for (std::size_t quad = 0; quad < block.quads; ++quad) {
    const __m256i w0 = load256(panel);
    const __m256i w1 = load256(panel + 32);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kBlockRows; ++r) {
      const __m256i x = broadcast_quad(r < 3 ? upper + r * stride : lower + (r - 3) * stride);
      sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], x, w0);
      sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], x, w1);
    }
    upper += kQuad;
    lower += kQuad;
    panel += kPanelChannels * kQuad;
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kBlockRows; ++r) {
    store256(acc + r * kPanelChannels, sum[r][0]);
    store256(acc + r * kPanelChannels + kLanes256, sum[r][1]);
  }
}

void multiply_tile(const TileOperands& operands, int row_count, std::int32_t* acc) {
  multiply_in_blocks<std::uint8_t, kBlockChannels>(operands, row_count, acc, multiply_block);
}

// Four vectors of psums, each channel's quad of positions reduced by vpdpbusd.
QSIM_AVX_VNNI void multiply_depthwise(const DepthwiseOperands& operands, int row_count,
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
      for (int j = 0; j < 4; ++j)
        sum[j] = _mm256_dpbusd_avx_epi32(sum[j], x[j], load_quads(panel, j));
      panel += kPanelChannels * kQuad;
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) store_psums(acc, j, sum[j]);
  }
}

// Dot products of x_rows pictures with w_rows rows of weights, whose own sums take the zero_point
// off again.
struct Dot {
  template <int x_rows, int w_rows>
  QSIM_AVX_VNNI static void products(const std::uint8_t* x, std::int32_t zero_point,
                                     const std::int8_t* const* weights, std::size_t depth,
                                     std::int32_t* out) {
    constexpr std::size_t kStep = 32;
    const __m256i ones = _mm256_set1_epi8(1);
    __m256i weight_sum[w_rows];
    __m256i sum[x_rows][w_rows];
#pragma GCC unroll 4
    for (int j = 0; j < w_rows; ++j) {
      weight_sum[j] = _mm256_setzero_si256();
#pragma GCC unroll 4
      for (int i = 0; i < x_rows; ++i) sum[i][j] = _mm256_setzero_si256();
    }
    for (std::size_t k = 0; k + kStep <= depth; k += kStep) {
      __m256i w[w_rows];
#pragma GCC unroll 4
      for (int j = 0; j < w_rows; ++j) {
        w[j] = load256(weights[j] + k);
        weight_sum[j] = _mm256_dpbusd_avx_epi32(weight_sum[j], ones, w[j]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < x_rows; ++i) {
        const __m256i v = load256(x + static_cast<std::size_t>(i) * depth + k);
#pragma GCC unroll 4
        for (int j = 0; j < w_rows; ++j) sum[i][j] = _mm256_dpbusd_avx_epi32(sum[i][j], v, w[j]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < w_rows; ++j) {
      const __m256i below = _mm256_mullo_epi32(weight_sum[j], _mm256_set1_epi32(zero_point));
#pragma GCC unroll 4
      for (int i = 0; i < x_rows; ++i) {
        out[i * kDotRows + j] =
            add_tail<kStep>(sum_lanes(_mm256_sub_epi32(sum[i][j], below)),
                            x + static_cast<std::size_t>(i) * depth, zero_point, weights[j], depth);
      }
    }
  }
};

}  // namespace

const VectorKernels kAvxVnniKernels{kTileRows256,
                                    RowFormat::kBytes,
                                    multiply_tile,
                                    requantize_tile_256,
                                    requantize_scaled_tile_256,
                                    dot_rows_256<Dot>,
                                    multiply_depthwise,
                                    add_float32_256};

}  // namespace qsim::golden
#endif
