// The fused products with AVX2 and FMA: tiles of four rows by two vectors.
#include "golden/host/fused_products.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <vector>

#include <immintrin.h>

#define QSIM_VECTOR __attribute__((target("avx2,fma")))

namespace qsim::golden {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kTileColumns = 2 * kLanes;
constexpr std::int64_t kTileRows = 4;

// `count` rows by 16 columns.
template <int count>
QSIM_VECTOR void tile(const FloatProduct& p, const float* a, const float* b, std::int64_t b_step,
                      float* out, std::int64_t out_step) {
  __m256 sums[count][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_ps();
  for (std::int64_t k = 0; k < p.inner; ++k) {
    const __m256 b0 = _mm256_loadu_ps(b + k * b_step);
    const __m256 b1 = _mm256_loadu_ps(b + k * b_step + kLanes);
    for (int r = 0; r < count; ++r) {
      const __m256 factor = _mm256_set1_ps(a[r * p.a_step + k]);
      sums[r][0] = _mm256_fmadd_ps(factor, b0, sums[r][0]);
      sums[r][1] = _mm256_fmadd_ps(factor, b1, sums[r][1]);
    }
  }
  const __m256 alpha = _mm256_set1_ps(p.alpha);
  for (int r = 0; r < count; ++r) {
    for (int v = 0; v < 2; ++v) {
      float* to = out + r * out_step + v * kLanes;
      const __m256 sum = sums[r][v];
      _mm256_storeu_ps(to, p.adds ? _mm256_fmadd_ps(sum, alpha, _mm256_loadu_ps(to))
                                  : _mm256_mul_ps(sum, alpha));
    }
  }
}

constexpr std::array kTiles = {tile<1>, tile<2>, tile<3>, tile<4>};

// The columns of b from `first` on, 16 to a row, 0 beyond the last.
void pack(const FloatProduct& p, std::int64_t first, std::int64_t count, float* packed) {
  for (std::int64_t k = 0; k < p.inner; ++k) {
    const float* from = p.b + k * p.b_step + first;
    std::fill(std::copy(from, from + count, packed), packed + kTileColumns, 0.0F);
    packed += kTileColumns;
  }
}

void fused_block(const FloatProduct& p) {
  std::vector<float> packed;
  for (std::int64_t n = 0; n < p.columns; n += kTileColumns) {
    const std::int64_t columns = std::min(kTileColumns, p.columns - n);
    const bool is_whole = columns == kTileColumns;
    const float* b = p.b + n;
    std::int64_t b_step = p.b_step;
    if (!is_whole || p.rows > kTileRows) {
      packed.resize(static_cast<std::size_t>(p.inner * kTileColumns));
      pack(p, n, columns, packed.data());
      b = packed.data();
      b_step = kTileColumns;
    }
    for (std::int64_t m = 0; m < p.rows; m += kTileRows) {
      const std::int64_t rows = std::min(kTileRows, p.rows - m);
      const auto run = kTiles[static_cast<std::size_t>(rows - 1)];
      float* out = p.out + m * p.out_step + n;
      if (is_whole) {
        run(p, p.a + m * p.a_step, b, b_step, out, p.out_step);
        continue;
      }
      std::array<float, kTileRows * kTileColumns> part{};
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(out + r * p.out_step, columns, part.data() + r * kTileColumns);
      }
      run(p, p.a + m * p.a_step, b, b_step, part.data(), kTileColumns);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(part.data() + r * kTileColumns, columns, out + r * p.out_step);
      }
    }
  }
}

}  // namespace

const FusedBlock kAvx2FusedBlock = fused_block;

}  // namespace qsim::golden
#endif
