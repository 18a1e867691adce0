// The inner loop of the vector paths: a block of psums stays in registers over all folds of a
// command. array_kernel_avx2.cpp and array_kernel_vnni.cpp define QSIM_KERNEL_TARGET, the
// instruction set that the functions below are compiled for, and include this file with vector
// types of their own:
//   struct V { Register; kLanes; load(p), store(p, r), add(a, b), broadcast(p), multiply_add(sum,
//   x, w) }
// and kAddsBias: whether activations come with 128 added (sub(a, b) is wanted then).
// multiply_add adds to each 32-bit lane the sum of products of its 4 bytes or 2 halves.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "sim/systemc/datapath/array_operands.h"

#if !defined(QSIM_KERNEL_TARGET)
#error "define QSIM_KERNEL_TARGET"
#endif

namespace qsim::array_block {

inline constexpr std::uint32_t kBiasLane = 0x80808080u;

// Pixels [pixel, pixel + kPixels), columns [column, column + kVectors * V::kLanes).
template <typename V, std::size_t kVectors, std::size_t kPixels>
QSIM_KERNEL_TARGET void run_block(const LaneView& view, std::size_t pixel, std::size_t column) {
  typename V::Register sums[kPixels][kVectors];
  std::int32_t* psums = view.psums + pixel * view.columns + column;
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[i][v] = V::load(view.corrections + column + v * V::kLanes);
      if (view.accumulate) {
        sums[i][v] = V::add(sums[i][v], V::load(psums + i * view.columns + v * V::kLanes));
      }
    }
  }
  // 128 times the sum of the weights: what activations with 128 added have too much.
  constexpr bool kSumsWeights = V::kAddsBias && kPixels <= kFewPixels;
  [[maybe_unused]] typename V::Register weight_sums[kVectors] = {};
  [[maybe_unused]] const typename V::Register bias = V::broadcast(&kBiasLane);
  const std::uint32_t* weights = view.weights + column;
  for (std::size_t fold = 0; fold < view.folds; ++fold) {
    const std::uint32_t* pixels = view.activations + view.fold_offsets[fold] + pixel;
    for (std::size_t step = 0; step < view.steps; ++step) {
      typename V::Register w[kVectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) w[v] = V::load(weights + v * V::kLanes);
#pragma GCC unroll 32
      for (std::size_t i = 0; i < kPixels; ++i) {
        const typename V::Register x = V::broadcast(pixels + i);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[i][v] = V::multiply_add(sums[i][v], x, w[v]);
        }
      }
      if constexpr (kSumsWeights) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) {
          weight_sums[v] = V::multiply_add(weight_sums[v], bias, w[v]);
        }
      }
      weights += view.columns;
      pixels += view.step_pitch;
    }
  }
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      if constexpr (kSumsWeights) sums[i][v] = V::sub(sums[i][v], weight_sums[v]);
      V::store(psums + i * view.columns + v * V::kLanes, sums[i][v]);
    }
  }
}

using Block = void (*)(const LaneView&, std::size_t pixel, std::size_t column);

// Entry i runs a block of i + 1 pixels.
template <typename V, std::size_t kVectors, std::size_t... kIndex>
constexpr std::array<Block, sizeof...(kIndex)> make_blocks(std::index_sequence<kIndex...>) {
  return {&run_block<V, kVectors, kIndex + 1>...};
}

// All pixels and columns, in blocks of equal size (up to one pixel) and at most kMaxPixels.
template <typename V, std::size_t kVectors, std::size_t kMaxPixels>
void run_blocks(const LaneView& view) {
  // Blocks are of equal size, so those of a view with more than kFewPixels have more too, and each
  // block judges by its own size what ArrayOperands judged by the view's: who adds the sums.
  static_assert(!V::kAddsBias || kMaxPixels >= 2 * kFewPixels + 1);
  static constexpr auto kBlocks = make_blocks<V, kVectors>(std::make_index_sequence<kMaxPixels>());
  const std::size_t count = (view.pixels + kMaxPixels - 1) / kMaxPixels;
  for (std::size_t column = 0; column < view.columns; column += kVectors * V::kLanes) {
    for (std::size_t block = 0; block < count; ++block) {
      const std::size_t begin = view.pixels * block / count;
      const std::size_t end = view.pixels * (block + 1) / count;
      kBlocks[end - begin - 1](view, begin, column);
    }
  }
}

}  // namespace qsim::array_block
