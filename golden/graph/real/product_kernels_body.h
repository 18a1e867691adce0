// The kernels of product_kernels.h over the operations of one instruction set. The including file
// defines QSIM_VECTOR (the attribute of its functions), Floats, kLanes, kTileRows and the
// operations (product_kernels_*.cpp).
#pragma once

#include <algorithm>

#include "golden/graph/real/real_executor.h"

namespace qsim::golden {
namespace {

// `rows` rows by `vectors` vectors stay in registers; each step of k is a broadcast a row and a
// load a vector for rows * vectors multiply-adds.
template <int rows, int vectors, bool adds>
QSIM_VECTOR void multiply_rows(const float* x, const ChunkOperands& operands, float* sums) {
  Floats sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = every(0.0F);
  }
  const float* weights = operands.weights;
  for (std::size_t k = 0; k < operands.products; ++k, weights += vectors * kLanes) {
    Floats w[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) w[v] = load(weights + static_cast<std::size_t>(v) * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Floats value = every(x[static_cast<std::size_t>(r) * kRowPitch + k]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = multiply_add(value, w[v], sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r, sums += operands.sums_pitch) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      float* to = sums + static_cast<std::size_t>(v) * kLanes;
      store(to, adds ? add(load(to), sum[r][v]) : sum[r][v]);
    }
  }
}

template <int rows, int vectors, bool adds>
QSIM_VECTOR void take_rows(const ChunkOperands& operands, std::size_t& row) {
  for (; row + rows <= operands.row_count; row += rows) {
    multiply_rows<rows, vectors, adds>(operands.rows + row * kRowPitch, operands,
                                       operands.sums + row * operands.sums_pitch);
  }
}

template <int vectors, bool adds>
QSIM_VECTOR void multiply_panel(const ChunkOperands& operands) {
  std::size_t row = 0;
  take_rows<kTileRows, vectors, adds>(operands, row);
  if constexpr (kTileRows > 8) take_rows<8, vectors, adds>(operands, row);
  take_rows<4, vectors, adds>(operands, row);
  take_rows<2, vectors, adds>(operands, row);
  take_rows<1, vectors, adds>(operands, row);
}

template <bool adds>
QSIM_VECTOR void multiply_chunk(const ChunkOperands& operands, std::size_t vectors) {
  vectors == 2 ? multiply_panel<2, adds>(operands) : multiply_panel<1, adds>(operands);
}

// `vectors` vectors from channel c on; `last` is how many lanes of the last one exist.
template <int vectors>
QSIM_VECTOR void depthwise_vectors(const ChannelOperands& operands, std::size_t c,
                                   std::size_t last) {
  Floats total[vectors];
  for (int v = 0; v < vectors; ++v) {
    const std::size_t at = c + static_cast<std::size_t>(v) * kLanes;
    total[v] = load_some(operands.bias + at, v + 1 < vectors ? kLanes : last);
  }
  for (std::size_t first = 0; first < operands.tap_count;
       first += static_cast<std::size_t>(kChunk)) {
    const std::size_t end = std::min(operands.tap_count, first + static_cast<std::size_t>(kChunk));
    Floats sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = every(0.0F);
    for (std::size_t t = first; t < end; ++t) {
      const float* x = operands.taps[t] + c;
      const float* w = operands.weights + t * operands.channels + c;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const std::size_t at = static_cast<std::size_t>(v) * kLanes;
        const std::size_t lanes = v + 1 < vectors ? kLanes : last;
        sum[v] = multiply_add(load_some(x + at, lanes), load_some(w + at, lanes), sum[v]);
      }
    }
    for (int v = 0; v < vectors; ++v) total[v] = add(total[v], sum[v]);
  }
  for (int v = 0; v < vectors; ++v) {
    const std::size_t at = c + static_cast<std::size_t>(v) * kLanes;
    store_some(operands.out + at, canonical_lanes(total[v]), v + 1 < vectors ? kLanes : last);
  }
}

QSIM_VECTOR inline void multiply_depthwise(const ChannelOperands& operands) {
  constexpr int kVectors = 4;
  std::size_t c = 0;
  for (; c + kVectors * kLanes <= operands.channels; c += kVectors * kLanes) {
    depthwise_vectors<kVectors>(operands, c, kLanes);
  }
  for (; c < operands.channels; c += kLanes) {
    depthwise_vectors<1>(operands, c, std::min(kLanes, operands.channels - c));
  }
}

inline constexpr ProductKernels kProducts = {kLanes, kTileRows, multiply_chunk<true>,
                                             multiply_chunk<false>, multiply_depthwise};

}  // namespace
}  // namespace qsim::golden
