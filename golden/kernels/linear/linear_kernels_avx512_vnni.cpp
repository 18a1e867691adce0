// The kernels with AVX-512 VNNI: vpdpbusd adds four u8 x s8 products to an int32 lane, wrapping. A
// lane is an output channel. Each function carries its target.
#include "golden/kernels/linear/linear_kernels.h"

#if defined(__x86_64__)
#include <cstring>

#include <immintrin.h>

#define QSIM_LINEAR_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma")))

namespace qsim::golden {
namespace {

QSIM_LINEAR_TARGET inline __m512i broadcast_quad(const std::int8_t* bytes) {
  std::int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return _mm512_set1_epi32(quad);
}

struct Avx512Vnni {
  // One quad: 4 weights of each of the panels' channels, as bytes.
  template <int digits, int panels, int rows>
  [[gnu::always_inline]] QSIM_LINEAR_TARGET static void step(__m512i (&sum)[rows][panels][digits],
                                                             const __m512i (&weights)[panels],
                                                             const std::int8_t* const (&x)[rows],
                                                             std::size_t at) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 6
      for (int i = 0; i < digits; ++i) {
        const __m512i quad = broadcast_quad(x[r] + at + static_cast<std::size_t>(i) * kLinearQuad);
#pragma GCC unroll 4
        for (int p = 0; p < panels; ++p) {
          sum[r][p][i] = _mm512_dpbusd_epi32(sum[r][p][i], weights[p], quad);
        }
      }
    }
  }

  template <int bits, int digits, int panels, int rows>
  QSIM_LINEAR_TARGET static void multiply(const LinearTile& tile, std::int32_t* acc) {
    constexpr std::size_t kStep = digits * kLinearQuad;
    __m512i sum[rows][panels][digits];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < panels; ++p) {
#pragma GCC unroll 6
        for (int i = 0; i < digits; ++i) sum[r][p][i] = _mm512_setzero_si512();
      }
    }
    const std::int8_t* x[rows];
    for (std::size_t r = 0; r < rows; ++r) x[r] = tile.digits + r * tile.row_stride;
    const std::uint8_t* panel[panels];
    for (std::size_t p = 0; p < panels; ++p) panel[p] = tile.panels + p * tile.panel_stride;
    const __m512i nibble = _mm512_set1_epi8(15);
    std::size_t at = 0;
    for (std::size_t quad = 0; quad < tile.quads; quad += bits == 8 ? 1 : 2) {
      __m512i weights[panels];
#pragma GCC unroll 4
      for (int p = 0; p < panels; ++p) {
        weights[p] = _mm512_loadu_si512(panel[p]);
        prefetch_weights(panel[p]);
        panel[p] += 64;
      }
      if constexpr (bits == 8) {
        step<digits, panels, rows>(sum, weights, x, at);
        at += kStep;
      } else {
        __m512i part[panels];
#pragma GCC unroll 4
        for (int p = 0; p < panels; ++p) part[p] = _mm512_and_si512(weights[p], nibble);
        step<digits, panels, rows>(sum, part, x, at);
#pragma GCC unroll 4
        for (int p = 0; p < panels; ++p) {
          part[p] = _mm512_and_si512(_mm512_srli_epi16(weights[p], 4), nibble);
        }
        step<digits, panels, rows>(sum, part, x, at + kStep);
        at += 2 * kStep;
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int p = 0; p < panels; ++p) {
#pragma GCC unroll 6
        for (int i = 0; i < digits; ++i) {
          _mm512_storeu_si512(acc + static_cast<std::size_t>((r * panels + p) * kMostDigits + i) *
                                        kLinearPanelChannels,
                              sum[r][p][i]);
        }
      }
    }
  }

  QSIM_LINEAR_TARGET static void add_group(const GroupOperands& group, float* sums) {
    if (!group.small) return add_group_body(group, sums);
    const __m512i zero_points =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(group.zero_points)));
    const auto digit = [&](std::size_t i) QSIM_LINEAR_TARGET {
      return _mm512_loadu_si512(group.acc + i * kLinearPanelChannels);
    };
    const auto pair = [&](__m512i low, __m512i high) QSIM_LINEAR_TARGET {
      return _mm512_add_epi32(low, _mm512_slli_epi32(high, 8));
    };
    const auto without_zero = [&](__m512i part, std::int32_t sum) QSIM_LINEAR_TARGET {
      return _mm512_sub_epi32(part, _mm512_mullo_epi32(zero_points, _mm512_set1_epi32(sum)));
    };
    const DigitPairs x(group);
    const __m512i low = without_zero(pair(digit(0), digit(1)), x.low);
    const __m512i middle =
        without_zero(group.digits > 3 ? pair(digit(2), digit(3)) : digit(2), x.middle);
    __m512d first = _mm512_cvtepi32_pd(_mm512_castsi512_si256(low));
    __m512d second = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(low, 1));
    const auto add = [&](__m512i part, double weight) QSIM_LINEAR_TARGET {
      const __m512d weights = _mm512_set1_pd(weight);
      first = _mm512_fmadd_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(part)), weights, first);
      second =
          _mm512_fmadd_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(part, 1)), weights, second);
    };
    add(middle, 0x1p16);
    if (group.digits > 4) add(without_zero(digit(4), x.high), 0x1p32);
    const __m512 rounded = _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(first)),
                                              _mm512_cvtpd_ps(second), 1);
    _mm512_storeu_ps(
        sums, _mm512_fmadd_ps(rounded, _mm512_loadu_ps(group.scales), _mm512_loadu_ps(sums)));
  }
};

}  // namespace

const LinearKernels kAvx512VnniLinearKernels = linear_kernels_of<Avx512Vnni>();

}  // namespace qsim::golden
#endif
