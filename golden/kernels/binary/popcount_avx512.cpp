// The kernels with AVX-512: vpopcntq counts eight words at once. Each function carries its target,
// so that the rest of the program stays runnable on processors without these instructions.
#include "golden/kernels/binary/bit_tensor.h"
#include "golden/kernels/binary/popcount_kernels.h"

#if defined(__x86_64__)
#include <algorithm>

#include <immintrin.h>

#define QSIM_AVX512_POPCOUNT \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vpopcntdq,fma")))

namespace qsim::golden {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kVectors = kPanelColumns / kLanes;
static_assert(kVectors == 2);
constexpr std::size_t kRows = 6;  // twelve sums, two vectors of weights

template <std::size_t rows>
QSIM_AVX512_POPCOUNT inline void count_block(const std::uint64_t* from, std::size_t row_stride,
                                             const std::uint64_t* panel, std::size_t words,
                                             std::int32_t* counts) {
  __m512i sum[rows][kVectors];
#pragma GCC unroll 6
  for (auto& row : sum) row[0] = row[1] = _mm512_setzero_si512();
  for (std::size_t k = 0; k < words; ++k) {
    const __m512i w0 = _mm512_load_si512(panel);
    const __m512i w1 = _mm512_load_si512(panel + kLanes);
    panel += kPanelColumns;
#pragma GCC unroll 6
    for (std::size_t r = 0; r < rows; ++r) {
      const __m512i x = _mm512_set1_epi64(static_cast<long long>(from[r * row_stride + k]));
      sum[r][0] = _mm512_add_epi64(sum[r][0], _mm512_popcnt_epi64(_mm512_xor_si512(x, w0)));
      sum[r][1] = _mm512_add_epi64(sum[r][1], _mm512_popcnt_epi64(_mm512_xor_si512(x, w1)));
    }
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < rows; ++r) {
    auto* to = reinterpret_cast<__m256i*>(counts + r * kPanelColumns);
    _mm256_storeu_si256(to, _mm512_cvtepi64_epi32(sum[r][0]));
    _mm256_storeu_si256(to + 1, _mm512_cvtepi64_epi32(sum[r][1]));
  }
}

QSIM_AVX512_POPCOUNT void count_rows(const std::uint64_t* rows, std::size_t row_stride,
                                     std::size_t row_count, const std::uint64_t* panel,
                                     std::size_t words, std::int32_t* counts) {
  while (row_count >= kRows) {
    count_block<kRows>(rows, row_stride, panel, words, counts);
    rows += kRows * row_stride;
    counts += kRows * kPanelColumns;
    row_count -= kRows;
  }
  switch (row_count) {
    case 5:
      return count_block<5>(rows, row_stride, panel, words, counts);
    case 4:
      return count_block<4>(rows, row_stride, panel, words, counts);
    case 3:
      return count_block<3>(rows, row_stride, panel, words, counts);
    case 2:
      return count_block<2>(rows, row_stride, panel, words, counts);
    case 1:
      return count_block<1>(rows, row_stride, panel, words, counts);
    default:
      return;
  }
}

QSIM_AVX512_POPCOUNT void add_base(const std::int32_t* counts, const std::int32_t* full,
                                   const float* beta, std::size_t bases, const float* alpha,
                                   float* y) {
  static_assert(kPanelColumns == 16);
  const __m512i all = _mm512_loadu_si512(full);
  __m512 s = _mm512_setzero_ps();
  for (std::size_t j = 0; j < bases; ++j) {
    const __m512i count = _mm512_loadu_si512(counts + j * kPanelColumns);
    const __m512i dot = _mm512_sub_epi32(all, _mm512_add_epi32(count, count));
    s = _mm512_fmadd_ps(_mm512_set1_ps(beta[j]), _mm512_cvtepi32_ps(dot), s);
  }
  _mm512_storeu_ps(y, _mm512_fmadd_ps(_mm512_loadu_ps(alpha), s, _mm512_loadu_ps(y)));
}

// Lanes c..c + 15 below count.
QSIM_AVX512_POPCOUNT inline __mmask16 lanes_below(std::size_t c, std::size_t count) {
  return static_cast<__mmask16>(count - c >= 16 ? 0xFFFF : (1U << (count - c)) - 1);
}

QSIM_AVX512_POPCOUNT void take_larger(const float* y, float* m, std::size_t count) {
  for (std::size_t c = 0; c < count; c += 16) {
    const __mmask16 lanes = lanes_below(c, count);
    const __m512 found = _mm512_maskz_loadu_ps(lanes, y + c);
    const __m512 best = _mm512_maskz_loadu_ps(lanes, m + c);
    const __mmask16 larger = _mm512_cmp_ps_mask(found, best, _CMP_GT_OQ);
    _mm512_mask_storeu_ps(m + c, lanes, _mm512_mask_mov_ps(best, larger, found));
  }
}

QSIM_AVX512_POPCOUNT void normalize(const float* m, const float* gain, const float* shift,
                                    bool relu, float* z, std::size_t count) {
  const __m512 zero = _mm512_setzero_ps();
  for (std::size_t c = 0; c < count; c += 16) {
    const __mmask16 lanes = lanes_below(c, count);
    __m512 value =
        _mm512_fmadd_ps(_mm512_maskz_loadu_ps(lanes, gain + c), _mm512_maskz_loadu_ps(lanes, m + c),
                        _mm512_maskz_loadu_ps(lanes, shift + c));
    if (relu) {
      value = _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, zero, _CMP_LT_OQ), zero);
    }
    _mm512_mask_storeu_ps(z + c, lanes, value);
  }
}

QSIM_AVX512_POPCOUNT void pack(const float* x, std::size_t channels, float v,
                               std::uint64_t* words) {
  const __m512 add = _mm512_set1_ps(v);
  const __m512 half = _mm512_set1_ps(0.5F);
  for (std::size_t first = 0; first < channels; first += kBitsPerWord) {
    std::uint64_t word = 0;
    const std::size_t end = std::min<std::size_t>(channels, first + kBitsPerWord);
    for (std::size_t c = first; c < end; c += 16) {
      const __mmask16 lanes = lanes_below(c, end);
      const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, x + c), add);
      const auto bits = _mm512_mask_cmp_ps_mask(lanes, sum, half, _CMP_GT_OQ);
      word |= static_cast<std::uint64_t>(bits) << (c - first);
    }
    words[first / kBitsPerWord] = word;
  }
}

}  // namespace

const PopcountKernels kAvx512Popcount = {count_rows, add_base, take_larger, normalize, pack};

}  // namespace qsim::golden
#endif
