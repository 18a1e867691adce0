// The inner loop of the vector paths: a block of psums stays in registers over many folds of a
// command. The array_kernel_*.cpp file of each path defines QSIM_KERNEL_TARGET, the instruction set
// that the functions below are compiled for, and includes this file with vector types of its own:
//   struct V { Register; kLanes; load(p), store(p, r), add(a, b), broadcast(p), multiply_add(sum,
//   x, w) }
// and kAddsBias: whether activations come with 128 added (sub(a, b) is wanted then).
// multiply_add adds to each 32-bit lane the sum of products of its 4 bytes or 2 halves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sim/systemc/datapath/array_operands.h"

#if !defined(QSIM_KERNEL_TARGET)
#error "define QSIM_KERNEL_TARGET"
#endif

namespace qsim::sim::array_block {

inline constexpr std::uint32_t kBiasLane = 0x80808080u;

// The folds [begin, end) of a view.
struct Folds {
  std::size_t begin;
  std::size_t end;
};

// Pixels [pixel, pixel + kPixels), columns [column, column + kVectors * V::kLanes). The corrections
// and what accumulates come with fold 0; later folds add to psums that earlier ones left.
template <typename V, std::size_t kVectors, std::size_t kPixels>
QSIM_KERNEL_TARGET void run_block(const LaneView& view, Folds folds, std::size_t pixel,
                                  std::size_t column) {
  typename V::Register sums[kPixels][kVectors];
  std::int32_t* psums = view.psums + pixel * view.columns + column;
#pragma GCC unroll 32
  for (std::size_t i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::int32_t* psum = psums + i * view.columns + v * V::kLanes;
      if (folds.begin > 0) {
        sums[i][v] = V::load(psum);
        continue;
      }
      sums[i][v] = V::load(view.corrections + column + v * V::kLanes);
      if (view.accumulate) sums[i][v] = V::add(sums[i][v], V::load(psum));
    }
  }
  // 128 times the sum of the weights: what activations with 128 added have too much.
  constexpr bool kSumsWeights = V::kAddsBias && kPixels <= kFewPixels;
  [[maybe_unused]] typename V::Register weight_sums[kVectors] = {};
  [[maybe_unused]] const typename V::Register bias = V::broadcast(&kBiasLane);
  const std::size_t step_pitch = view.step_pitch;
  const std::size_t columns = view.columns;
  const std::size_t fold_weights = view.steps * columns;
  const std::uint32_t* weights = view.weights + folds.begin * fold_weights + column;
  const std::size_t* const end = view.fold_offsets + folds.end;
  for (const std::size_t* offset = view.fold_offsets + folds.begin; offset != end; ++offset) {
    const std::uint32_t* pixels = view.activations + *offset + pixel;
    const std::uint32_t* const next_fold = weights + fold_weights;
    for (; weights != next_fold; weights += columns, pixels += step_pitch) {
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

using Block = void (*)(const LaneView&, Folds folds, std::size_t pixel, std::size_t column);

// Entry i runs a block of i + 1 pixels.
template <typename V, std::size_t kVectors, std::size_t... kIndex>
constexpr std::array<Block, sizeof...(kIndex)> make_blocks(std::index_sequence<kIndex...>) {
  return {&run_block<V, kVectors, kIndex + 1>...};
}

// What all blocks of pixels read again should stay in the first-level cache, which has 32 KB on
// many processors: the weights of some folds and one group of columns.
inline constexpr std::size_t kWeightBytesInCache = 16 * 1024;

// How many folds to work on before the next ones. Those of one block of pixels are read once.
inline std::size_t folds_at_once(const LaneView& view, std::size_t blocks, std::size_t columns) {
  if (blocks == 1) return view.folds;
  const std::size_t fold_bytes = view.steps * columns * sizeof(std::uint32_t);
  const std::size_t most = std::max<std::size_t>(kWeightBytesInCache / fold_bytes, 1);
  const std::size_t passes = (view.folds + most - 1) / most;
  return (view.folds + passes - 1) / passes;
}

// All folds, columns and pixels, in blocks of equal size (up to one pixel) and at most kMaxPixels.
template <typename V, std::size_t kVectors, std::size_t kMaxPixels>
void run_blocks(const LaneView& view) {
  // Blocks are of equal size, so those of a view with more than kFewPixels have more too, and each
  // block judges by its own size what ArrayOperands judged by the view's: which of the two adds the
  // sums.
  static_assert(!V::kAddsBias || kMaxPixels >= 2 * kFewPixels + 1);
  static constexpr auto kBlocks = make_blocks<V, kVectors>(std::make_index_sequence<kMaxPixels>());
  constexpr std::size_t kColumns = kVectors * V::kLanes;
  const std::size_t count = (view.pixels + kMaxPixels - 1) / kMaxPixels;
  const std::size_t size = view.pixels / count;
  const std::size_t larger = view.pixels % count;  // blocks that have one pixel more
  const std::size_t folds = folds_at_once(view, count, kColumns);
  for (std::size_t fold = 0; fold < view.folds; fold += folds) {
    const Folds now{fold, std::min(fold + folds, view.folds)};
    for (std::size_t column = 0; column < view.columns; column += kColumns) {
      std::size_t begin = 0;
      for (std::size_t block = 0; block < count; ++block) {
        const std::size_t end = begin + size + (block < larger ? 1 : 0);
        kBlocks[end - begin - 1](view, now, begin, column);
        begin = end;
      }
    }
  }
}

}  // namespace qsim::sim::array_block
