// What the kernels with 256-bit registers share: a panel is two vectors of eight channels. Set
// gives the multiply-add; this file is included after the macro QSIM_LINEAR_TARGET names its
// target.
#pragma once

#include <cstring>

#include <immintrin.h>

#include "golden/kernels/linear/linear_kernels.h"

namespace qsim::golden {
namespace {

// Channels `c` to c + 7 of a small group.
[[gnu::always_inline]] QSIM_LINEAR_TARGET inline void add_eight(const GroupOperands& group,
                                                                const DigitPairs& x, std::size_t c,
                                                                float* sums) {
  const __m256i zero_points = _mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(group.zero_points + c)));
  const auto digit = [&](std::size_t i) QSIM_LINEAR_TARGET {
    return _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(group.acc + i * kLinearPanelChannels + c));
  };
  const auto pair = [&](__m256i low, __m256i high) QSIM_LINEAR_TARGET {
    return _mm256_add_epi32(low, _mm256_slli_epi32(high, 8));
  };
  const auto without_zero = [&](__m256i part, std::int32_t sum) QSIM_LINEAR_TARGET {
    return _mm256_sub_epi32(part, _mm256_mullo_epi32(zero_points, _mm256_set1_epi32(sum)));
  };
  const __m256i low = without_zero(pair(digit(0), digit(1)), x.low);
  const __m256i middle =
      without_zero(group.digits > 3 ? pair(digit(2), digit(3)) : digit(2), x.middle);
  __m256d first = _mm256_cvtepi32_pd(_mm256_castsi256_si128(low));
  __m256d second = _mm256_cvtepi32_pd(_mm256_extracti128_si256(low, 1));
  const auto add = [&](__m256i part, double weight) QSIM_LINEAR_TARGET {
    const __m256d weights = _mm256_set1_pd(weight);
    first = _mm256_fmadd_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(part)), weights, first);
    second =
        _mm256_fmadd_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(part, 1)), weights, second);
  };
  add(middle, 0x1p16);
  if (group.digits > 4) add(without_zero(digit(4), x.high), 0x1p32);
  const __m256 rounded = _mm256_set_m128(_mm256_cvtpd_ps(second), _mm256_cvtpd_ps(first));
  _mm256_storeu_ps(sums + c, _mm256_fmadd_ps(rounded, _mm256_loadu_ps(group.scales + c),
                                             _mm256_loadu_ps(sums + c)));
}

QSIM_LINEAR_TARGET inline void add_group_256(const GroupOperands& group, float* sums) {
  if (!group.small) return add_group_body(group, sums);
  const DigitPairs x(group);
  add_eight(group, x, 0, sums);
  add_eight(group, x, 8, sums);
}

template <typename Set>
struct Kernels256 {
  using Sum = typename Set::Sum;

  template <int digits, int panels, int rows>
  [[gnu::always_inline]] QSIM_LINEAR_TARGET static void step(Sum (&sum)[rows][panels][digits],
                                                             const __m256i (&weights)[panels][2],
                                                             const std::int8_t* const (&x)[rows],
                                                             std::size_t at) {
#pragma GCC unroll 4
    for (int p = 0; p < panels; ++p) {
      const auto first = Set::prepared(weights[p][0]);
      const auto second = Set::prepared(weights[p][1]);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 6
        for (int i = 0; i < digits; ++i) {
          const __m256i quad =
              Set::broadcast(x[r] + at + static_cast<std::size_t>(i) * kLinearQuad);
          Set::add(sum[r][p][i], first, second, quad);
        }
      }
    }
  }

  template <int bits, int digits, int panels, int rows>
  QSIM_LINEAR_TARGET static void multiply(const LinearTile& tile, std::int32_t* acc) {
    constexpr std::size_t kStep = digits * kLinearQuad;
    Sum sum[rows][panels][digits] = {};
    const std::int8_t* x[rows];
    for (std::size_t r = 0; r < rows; ++r) x[r] = tile.digits + r * tile.row_stride;
    const __m256i nibble = _mm256_set1_epi8(15);
    const std::uint8_t* panel = tile.panels;
    std::size_t at = 0;
    for (std::size_t quad = 0; quad < tile.quads; quad += bits == 8 ? 1 : 2) {
      __m256i weights[panels][2];
#pragma GCC unroll 4
      for (std::size_t p = 0; p < panels; ++p) {
        const auto* vectors = reinterpret_cast<const __m256i*>(panel + p * tile.panel_stride);
        prefetch_weights(panel + p * tile.panel_stride);
        weights[p][0] = _mm256_loadu_si256(vectors);
        weights[p][1] = _mm256_loadu_si256(vectors + 1);
      }
      panel += 64;
      if constexpr (bits == 8) {
        step<digits, panels, rows>(sum, weights, x, at);
        at += kStep;
      } else {
        __m256i low[panels][2];
        __m256i high[panels][2];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < panels; ++p) {
          for (std::size_t v = 0; v < 2; ++v) {
            low[p][v] = _mm256_and_si256(weights[p][v], nibble);
            high[p][v] = _mm256_and_si256(_mm256_srli_epi16(weights[p][v], 4), nibble);
          }
        }
        step<digits, panels, rows>(sum, low, x, at);
        step<digits, panels, rows>(sum, high, x, at + kStep);
        at += 2 * kStep;
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < panels; ++p) {
#pragma GCC unroll 6
        for (int i = 0; i < digits; ++i) {
          Set::store(acc + static_cast<std::size_t>((r * panels + p) * kMostDigits + i) *
                               kLinearPanelChannels,
                     sum[r][p][i]);
        }
      }
    }
  }

  QSIM_LINEAR_TARGET static void add_group(const GroupOperands& group, float* sums) {
    add_group_256(group, sums);
  }
};

}  // namespace
}  // namespace qsim::golden
