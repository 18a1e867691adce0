#include "sim/interpreter/fold_kernel.h"

#include <algorithm>
#include <cstring>

// One clone of a function per instruction set, chosen when the program is loaded. Sanitizers start
// later than that choice, so their builds take the plain function.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QSIM_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define QSIM_CLONES
#endif

namespace qsim::sim::interpreter {
namespace {

struct Pass {
  const std::int8_t* const* pixels;
  std::size_t count;
  std::size_t rows;
  const std::uint32_t* weights;  // [rows][group]
  std::uint32_t* acc;            // of pixel 0
  std::size_t acc_stride;        // from one pixel to the next
  bool overwrite;
};

using Lanes4 = std::uint32_t __attribute__((vector_size(16)));
using Lanes8 = std::uint32_t __attribute__((vector_size(32)));

// kPixels pixels by kVectors vectors of columns stay in registers over all rows.
template <typename Lanes, std::size_t kVectors, std::size_t kPixels>
[[gnu::always_inline]] inline void run_pixels(const Pass& p, std::size_t first) {
  constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(std::uint32_t);
  Lanes sum[kPixels][kVectors] = {};
  const std::int8_t* x[kPixels];
  for (std::size_t i = 0; i < kPixels; ++i) x[i] = p.pixels[first + i];
  for (std::size_t r = 0; r < p.rows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Lanes w;
      std::memcpy(&w, p.weights + (r * kVectors + v) * kLanes, sizeof w);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kPixels; ++i) {
        sum[i][v] += w * static_cast<std::uint32_t>(std::int32_t{x[i][r]});
      }
    }
  }
  for (std::size_t i = 0; i < kPixels; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      std::uint32_t* to = p.acc + (first + i) * p.acc_stride + v * kLanes;
      Lanes old = {};
      if (!p.overwrite) std::memcpy(&old, to, sizeof old);
      old += sum[i][v];
      std::memcpy(to, &old, sizeof old);
    }
  }
}

template <typename Lanes, std::size_t kVectors>
[[gnu::always_inline]] inline void run_pass(const Pass& pass) {
  constexpr std::size_t kPixels = 4;
  std::size_t i = 0;
  for (; i + kPixels <= pass.count; i += kPixels) run_pixels<Lanes, kVectors, kPixels>(pass, i);
  for (; i < pass.count; ++i) run_pixels<Lanes, kVectors, 1>(pass, i);
}

QSIM_CLONES void pass_of_4_columns(const Pass& pass) { run_pass<Lanes4, 1>(pass); }
QSIM_CLONES void pass_of_8_columns(const Pass& pass) { run_pass<Lanes8, 1>(pass); }
QSIM_CLONES void pass_of_16_columns(const Pass& pass) { run_pass<Lanes8, 2>(pass); }

}  // namespace

FoldWeights::FoldWeights(std::size_t rows, std::size_t columns)
    : rows_(rows),
      columns_(columns),
      group_(std::min<std::size_t>(columns, 16)),
      values_(rows * columns) {}

void FoldWeights::assign(const std::int8_t* bytes, Layout layout) {
  const bool by_channel = layout == Layout::kByChannel;
  const std::size_t row_pitch = by_channel ? 1 : columns_;
  const std::size_t column_pitch = by_channel ? rows_ : 1;
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t c = 0; c < columns_; ++c) {
      values_[(c / group_ * rows_ + r) * group_ + c % group_] =
          static_cast<std::uint32_t>(std::int32_t{bytes[r * row_pitch + c * column_pitch]});
    }
  }
}

void FoldWeights::accumulate(std::span<const std::int8_t* const> pixels, bool overwrite,
                             std::uint32_t* acc) const {
  for (std::size_t column = 0; column < columns_; column += group_) {
    const Pass pass = {pixels.data(), pixels.size(), rows_,    values_.data() + column * rows_,
                       acc + column,  columns_,      overwrite};
    if (group_ == 4) {
      pass_of_4_columns(pass);
    } else if (group_ == 8) {
      pass_of_8_columns(pass);
    } else {
      pass_of_16_columns(pass);
    }
  }
}

}  // namespace qsim::sim::interpreter
