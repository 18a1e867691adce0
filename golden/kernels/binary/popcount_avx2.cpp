// The kernels with AVX2, which has no popcount: vpshufb looks the counts of the 32 low and the 32
// high halves of bytes up in a table of sixteen (Mula, Kurz, Lemire, "Faster population counts
// using AVX2 instructions", 2018). vpsadbw adds the bytes of a word.
#include "golden/kernels/binary/bit_tensor.h"
#include "golden/kernels/binary/popcount_kernels.h"

#if defined(__x86_64__)
#include <algorithm>

#include <immintrin.h>

#define QSIM_AVX2_POPCOUNT __attribute__((target("avx2,fma")))

namespace qsim::golden {
namespace {

constexpr std::size_t kLanes = 4;                         // words of a vector
constexpr std::size_t kVectors = kPanelColumns / kLanes;  // of a panel
constexpr std::size_t kRows = 2;
constexpr std::size_t kByteSteps = 31;  // a byte counts at most 8 a step, and holds 255

QSIM_AVX2_POPCOUNT inline __m256i load(const void* address) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(address));
}

// The number of bits in each byte.
QSIM_AVX2_POPCOUNT inline __m256i count_bytes(__m256i bits) {
  const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                         0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i low = _mm256_and_si256(bits, nibble);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bits, 4), nibble);
  return _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high));
}

// Two rows by half a panel.
template <std::size_t rows>
QSIM_AVX2_POPCOUNT inline void count_half(const std::uint64_t* from, std::size_t row_stride,
                                          const std::uint64_t* panel, std::size_t words,
                                          std::int32_t* counts) {
  __m256i sum[rows][2];
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_si256();
  for (std::size_t first = 0; first < words; first += kByteSteps) {
    __m256i bytes[rows][2];
    for (auto& row : bytes) row[0] = row[1] = _mm256_setzero_si256();
    for (std::size_t k = first; k < std::min(words, first + kByteSteps); ++k) {
      const __m256i w0 = load(panel + k * kPanelColumns);
      const __m256i w1 = load(panel + k * kPanelColumns + kLanes);
#pragma GCC unroll 2
      for (std::size_t r = 0; r < rows; ++r) {
        const __m256i x = _mm256_set1_epi64x(static_cast<long long>(from[r * row_stride + k]));
        bytes[r][0] = _mm256_add_epi8(bytes[r][0], count_bytes(_mm256_xor_si256(x, w0)));
        bytes[r][1] = _mm256_add_epi8(bytes[r][1], count_bytes(_mm256_xor_si256(x, w1)));
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t h = 0; h < 2; ++h) {
        const __m256i eight = _mm256_sad_epu8(bytes[r][h], _mm256_setzero_si256());
        sum[r][h] = _mm256_add_epi64(sum[r][h], eight);
      }
    }
  }
  const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);  // the low halves of the words
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t h = 0; h < 2; ++h) {
      const __m256i narrow = _mm256_permutevar8x32_epi32(sum[r][h], even);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(counts + r * kPanelColumns + h * kLanes),
                       _mm256_castsi256_si128(narrow));
    }
  }
}

QSIM_AVX2_POPCOUNT void count_rows(const std::uint64_t* rows, std::size_t row_stride,
                                   std::size_t row_count, const std::uint64_t* panel,
                                   std::size_t words, std::int32_t* counts) {
  static_assert(kVectors == 4);
  for (std::size_t half = 0; half < kPanelColumns; half += 2 * kLanes) {
    std::size_t r = 0;
    for (; r + kRows <= row_count; r += kRows) {
      count_half<kRows>(rows + r * row_stride, row_stride, panel + half, words,
                        counts + r * kPanelColumns + half);
    }
    if (r < row_count) {
      count_half<1>(rows + r * row_stride, row_stride, panel + half, words,
                    counts + r * kPanelColumns + half);
    }
  }
}

QSIM_AVX2_POPCOUNT void add_base(const std::int32_t* counts, const std::int32_t* full,
                                 const float* beta, std::size_t bases, const float* alpha,
                                 float* y) {
  for (std::size_t c = 0; c < kPanelColumns; c += 8) {
    const __m256i all = load(full + c);
    __m256 s = _mm256_setzero_ps();
    for (std::size_t j = 0; j < bases; ++j) {
      const __m256i count = load(counts + j * kPanelColumns + c);
      const __m256i dot = _mm256_sub_epi32(all, _mm256_add_epi32(count, count));
      s = _mm256_fmadd_ps(_mm256_set1_ps(beta[j]), _mm256_cvtepi32_ps(dot), s);
    }
    _mm256_storeu_ps(y + c, _mm256_fmadd_ps(_mm256_loadu_ps(alpha + c), s, _mm256_loadu_ps(y + c)));
  }
}

QSIM_AVX2_POPCOUNT void take_larger(const float* y, float* m, std::size_t count) {
  std::size_t c = 0;
  for (; c + 8 <= count; c += 8) {
    const __m256 found = _mm256_loadu_ps(y + c);
    const __m256 best = _mm256_loadu_ps(m + c);
    const __m256 larger = _mm256_cmp_ps(found, best, _CMP_GT_OQ);
    _mm256_storeu_ps(m + c, _mm256_blendv_ps(best, found, larger));
  }
  for (; c < count; ++c) m[c] = y[c] > m[c] ? y[c] : m[c];
}

QSIM_AVX2_POPCOUNT void normalize(const float* m, const float* gain, const float* shift, bool relu,
                                  float* z, std::size_t count) {
  const __m256 zero = _mm256_setzero_ps();
  std::size_t c = 0;
  for (; c + 8 <= count; c += 8) {
    __m256 value = _mm256_fmadd_ps(_mm256_loadu_ps(gain + c), _mm256_loadu_ps(m + c),
                                   _mm256_loadu_ps(shift + c));
    if (relu) value = _mm256_blendv_ps(value, zero, _mm256_cmp_ps(value, zero, _CMP_LT_OQ));
    _mm256_storeu_ps(z + c, value);
  }
  for (; c < count; ++c) {
    const float value = __builtin_fmaf(gain[c], m[c], shift[c]);
    z[c] = relu && value < 0 ? 0.0F : value;
  }
}

QSIM_AVX2_POPCOUNT void pack(const float* x, std::size_t channels, float v, std::uint64_t* words) {
  const __m256 add = _mm256_set1_ps(v);
  const __m256 half = _mm256_set1_ps(0.5F);
  for (std::size_t first = 0; first < channels; first += kBitsPerWord) {
    std::uint64_t word = 0;
    const std::size_t end = std::min<std::size_t>(channels, first + kBitsPerWord);
    std::size_t c = first;
    for (; c + 8 <= end; c += 8) {
      const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(x + c), add);
      const auto bits =
          static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(sum, half, _CMP_GT_OQ)));
      word |= std::uint64_t{bits} << (c - first);
    }
    for (; c < end; ++c) word |= std::uint64_t{x[c] + v > 0.5F} << (c - first);
    words[first / kBitsPerWord] = word;
  }
}

}  // namespace

const PopcountKernels kAvx2Popcount = {count_rows, add_base, take_larger, normalize, pack};

}  // namespace qsim::golden
#endif
