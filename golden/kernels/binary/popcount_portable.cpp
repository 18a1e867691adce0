// The kernels in standard C++, for processors without the vector instructions.
#include <algorithm>
#include <bit>
#include <cmath>

#include "golden/kernels/binary/bit_tensor.h"
#include "golden/kernels/binary/popcount_kernels.h"

namespace qsim::golden {
namespace {

void count_rows(const std::uint64_t* rows, std::size_t row_stride, std::size_t row_count,
                const std::uint64_t* panel, std::size_t words, std::int32_t* counts) {
  for (std::size_t r = 0; r < row_count; ++r) {
    std::int32_t* sums = counts + r * kPanelColumns;
    std::fill_n(sums, kPanelColumns, 0);
    for (std::size_t k = 0; k < words; ++k) {
      const std::uint64_t word = rows[r * row_stride + k];
      for (std::size_t c = 0; c < kPanelColumns; ++c) {
        sums[c] += std::popcount(word ^ panel[k * kPanelColumns + c]);
      }
    }
  }
}

void add_base(const std::int32_t* counts, const std::int32_t* full, const float* beta,
              std::size_t bases, const float* alpha, float* y) {
  for (std::size_t c = 0; c < kPanelColumns; ++c) {
    float s = 0;
    for (std::size_t j = 0; j < bases; ++j) {
      s = std::fma(beta[j], static_cast<float>(full[c] - 2 * counts[j * kPanelColumns + c]), s);
    }
    y[c] = std::fma(alpha[c], s, y[c]);
  }
}

void take_larger(const float* y, float* m, std::size_t count) {
  for (std::size_t c = 0; c < count; ++c) m[c] = y[c] > m[c] ? y[c] : m[c];
}

void normalize(const float* m, const float* gain, const float* shift, bool relu, float* z,
               std::size_t count) {
  for (std::size_t c = 0; c < count; ++c) {
    const float value = std::fma(gain[c], m[c], shift[c]);
    z[c] = relu && value < 0 ? 0.0F : value;
  }
}

void pack(const float* x, std::size_t channels, float v, std::uint64_t* words) {
  for (std::size_t first = 0; first < channels; first += kBitsPerWord) {
    std::uint64_t word = 0;
    for (std::size_t c = first; c < std::min(channels, first + kBitsPerWord); ++c) {
      word |= std::uint64_t{x[c] + v > 0.5F} << (c - first);
    }
    words[first / kBitsPerWord] = word;
  }
}

}  // namespace

const PopcountKernels kPortablePopcount = {count_rows, add_base, take_larger, normalize, pack};

}  // namespace qsim::golden
