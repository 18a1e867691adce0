// The kernels with AVX2. Bytes: vpmaddwd adds two products of 16-bit words to an int32 lane,
// exactly. (vpmaddubsw saturates at 16 bits: 255 * 128 * 2 does not fit.) Nibbles: vpmaddubsw adds
// two products to a 16-bit lane, and eight such sums fit it: 8 * 2 * 15 * 128 = 30,720.
#if defined(__x86_64__)
#define QSIM_LINEAR_TARGET __attribute__((target("avx2,fma")))

#include "golden/kernels/linear/linear_kernels_256.h"

namespace qsim::golden {
namespace {

QSIM_LINEAR_TARGET inline __m256i quad_of(const std::int8_t* bytes) {
  std::int32_t quad;
  std::memcpy(&quad, bytes, sizeof quad);
  return _mm256_set1_epi32(quad);
}

struct Avx2Kernels {
  static constexpr std::size_t kQuadsOfBlock = 64;
  static constexpr std::size_t kPairsOfSum = 4;  // pairs of quads, each two sums of a lane

  template <int bits, int digits, int panels, int rows>
  QSIM_LINEAR_TARGET static void multiply(const LinearTile& tile, std::int32_t* acc) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t p = 0; p < panels; ++p) {
        const std::uint8_t* panel = tile.panels + p * tile.panel_stride;
        const std::int8_t* x = tile.digits + r * tile.row_stride;
        std::int32_t* to = acc + (r * panels + p) * kMostDigits * kLinearPanelChannels;
        if constexpr (bits == 8) {
          multiply_bytes<digits>(panel, x, tile.quads, to);
        } else {
          multiply_nibbles<digits>(panel, x, tile.quads / 2, to);
        }
      }
    }
  }

  // Half a panel's channels at a time, whose sums fit the registers. The digits of a block become
  // words once for both.
  template <int digits>
  QSIM_LINEAR_TARGET static void multiply_bytes(const std::uint8_t* panel, const std::int8_t* x,
                                                std::size_t quads, std::int32_t* acc) {
    alignas(32) std::int16_t words[kQuadsOfBlock * digits * kLinearQuad];
    // Two partial sums of each channel: lanes 2c and 2c + 1 of a vector of four channels.
    __m256i totals[2][digits][2] = {};
    for (std::size_t first = 0; first < quads; first += kQuadsOfBlock) {
      const std::size_t count = quads - first < kQuadsOfBlock ? quads - first : kQuadsOfBlock;
      widen(x + first * digits * kLinearQuad, count * digits * kLinearQuad, words);
      const std::uint8_t* block = panel + first * kLinearPanelChannels * kLinearQuad;
      add_block<digits>(totals[0], block, words, count);
      add_block<digits>(totals[1], block + 32, words, count);
    }
    for (std::size_t i = 0; i < digits; ++i) {
      for (std::size_t half = 0; half < 2; ++half) {
        const __m256i sum = _mm256_hadd_epi32(totals[half][i][0], totals[half][i][1]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + i * kLinearPanelChannels + 8 * half),
                            _mm256_permute4x64_epi64(sum, 0b11011000));
      }
    }
  }

  // `count` is a multiple of 8.
  [[gnu::always_inline]] QSIM_LINEAR_TARGET static void widen(const std::int8_t* bytes,
                                                              std::size_t count,
                                                              std::int16_t* words) {
    for (std::size_t i = 0; i < count; i += 8) {
      const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + i));
      _mm_store_si128(reinterpret_cast<__m128i*>(words + i), _mm_cvtepi8_epi16(eight));
    }
  }

  template <int digits>
  [[gnu::always_inline]] QSIM_LINEAR_TARGET static void add_block(__m256i (&totals)[digits][2],
                                                                  const std::uint8_t* half,
                                                                  const std::int16_t* x,
                                                                  std::size_t quads) {
    __m256i sums[digits][2];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < digits; ++i) {
      sums[i][0] = totals[i][0];
      sums[i][1] = totals[i][1];
    }
    for (std::size_t quad = 0; quad < quads; ++quad) {
      const auto* bytes = reinterpret_cast<const __m128i*>(half);
      prefetch_weights(half);
      const __m256i low = _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes));
      const __m256i high = _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes + 1));
#pragma GCC unroll 6
      for (std::size_t i = 0; i < digits; ++i) {
        std::int64_t four;
        std::memcpy(&four, x + i * kLinearQuad, sizeof four);
        const __m256i digit = _mm256_set1_epi64x(four);
        sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(low, digit));
        sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(high, digit));
      }
      half += kLinearPanelChannels * kLinearQuad;
      x += digits * kLinearQuad;
    }
#pragma GCC unroll 6
    for (std::size_t i = 0; i < digits; ++i) {
      totals[i][0] = sums[i][0];
      totals[i][1] = sums[i][1];
    }
  }

  template <int digits>
  QSIM_LINEAR_TARGET static void multiply_nibbles(const std::uint8_t* panel, const std::int8_t* x,
                                                  std::size_t pairs, std::int32_t* acc) {
    std::memset(acc, 0, digits * kLinearPanelChannels * sizeof(std::int32_t));
    const __m256i nibble = _mm256_set1_epi8(15);
    while (pairs > 0) {
      const std::size_t count = pairs < kPairsOfSum ? pairs : kPairsOfSum;
      __m256i sums[digits][2];
#pragma GCC unroll 6
      for (auto& sum : sums) sum[0] = sum[1] = _mm256_setzero_si256();
      for (std::size_t i = 0; i < count; ++i) {
        const auto* vectors = reinterpret_cast<const __m256i*>(panel);
        prefetch_weights(panel);
        const __m256i first = _mm256_loadu_si256(vectors);
        const __m256i second = _mm256_loadu_si256(vectors + 1);
        add<digits>(sums, _mm256_and_si256(first, nibble), _mm256_and_si256(second, nibble), x);
        add<digits>(sums, _mm256_and_si256(_mm256_srli_epi16(first, 4), nibble),
                    _mm256_and_si256(_mm256_srli_epi16(second, 4), nibble),
                    x + digits * kLinearQuad);
        panel += 64;
        x += 2 * digits * kLinearQuad;
      }
#pragma GCC unroll 6
      for (std::size_t i = 0; i < digits; ++i) {
        flush(sums[i][0], acc + i * kLinearPanelChannels);
        flush(sums[i][1], acc + i * kLinearPanelChannels + 8);
      }
      pairs -= count;
    }
  }

  template <int digits>
  [[gnu::always_inline]] QSIM_LINEAR_TARGET static void add(__m256i (&sums)[digits][2],
                                                            __m256i first, __m256i second,
                                                            const std::int8_t* x) {
#pragma GCC unroll 6
    for (std::size_t i = 0; i < digits; ++i) {
      const __m256i quad = quad_of(x + i * kLinearQuad);
      sums[i][0] = _mm256_add_epi16(sums[i][0], _mm256_maddubs_epi16(first, quad));
      sums[i][1] = _mm256_add_epi16(sums[i][1], _mm256_maddubs_epi16(second, quad));
    }
  }

  // Adds the two words of each of eight channels.
  [[gnu::always_inline]] QSIM_LINEAR_TARGET static void flush(__m256i sum, std::int32_t* acc) {
    auto* to = reinterpret_cast<__m256i*>(acc);
    const __m256i words = _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
    _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), words));
  }

  QSIM_LINEAR_TARGET static void add_group(const GroupOperands& group, float* sums) {
    add_group_256(group, sums);
  }
};

}  // namespace

const LinearKernels kAvx2LinearKernels = linear_kernels_of<Avx2Kernels>();

}  // namespace qsim::golden
#endif
