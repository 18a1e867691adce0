// The finishes of batch normalization: ConvStatistics, ConvGradientSums, ConvNormalizeGradient.
#pragma once

#include "golden/kernels/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

// Integers: the order of the additions does not matter. `sums` began as zeros. A thread has half of
// the rows of a column.
struct StatisticsFinish {
  static constexpr bool kHasColumnValues = false;
  static constexpr bool kRowsInnermost = false;
  struct State {
    std::int64_t sum = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };
  std::int64_t* sums;  // [out][3]

  __device__ std::int64_t row_offset(const ConvSizes& /*conv*/, int /*pixel*/) const { return 0; }

  __device__ void run(const ConvSizes& /*conv*/, const PieceSums<false>& acc, const Piece& piece,
                      State& state) const {
    constexpr int kRows = kPieceRows * kPieceColumns / kFinishThreads;
    const int first = piece.thread / kPieceColumns * kRows;
#pragma unroll 8
    for (int i = 0; i < kRows; ++i) {
      const bool is_there = piece.frame.pixels[first + i] >= 0;
      const std::int32_t value = is_there ? acc.at(first + i, piece.thread % kPieceColumns) : 0;
      const std::int64_t square = std::int64_t{value} * value;
      state.sum += value;
      state.low += static_cast<std::uint32_t>(square);
      state.high += static_cast<std::uint64_t>(square) >> 32;
    }
  }

  __device__ void end(const ConvSizes& /*conv*/, const State& state, const Piece& last,
                      int /*slot*/) const {
    const int column = last.thread % kPieceColumns;
    if (column >= last.columns) return;
    auto* to = reinterpret_cast<unsigned long long*>(sums) + (last.first_channel + column) * 3;
    atomicAdd(to, static_cast<unsigned long long>(state.sum));
    atomicAdd(to + 1, state.low);
    atomicAdd(to + 2, state.high);
  }
};

// Four values of g in bfloat16, of which `inside` are channels.
__device__ inline uint2 load_gradients(const std::uint16_t* from, bool four, int inside) {
  if (four && inside == 4) return *reinterpret_cast<const uint2*>(from);
  uint2 codes = make_uint2(0, 0);
  if (inside > 0) codes.x = from[0];
  if (inside > 1) codes.x |= static_cast<std::uint32_t>(from[1]) << 16;
  if (inside > 2) codes.y = from[2];
  if (inside > 3) codes.y |= static_cast<std::uint32_t>(from[3]) << 16;
  return codes;
}

// One of them, k a constant.
__device__ inline float gradient_of(uint2 codes, int k) {
  const std::uint32_t word = k < 2 ? codes.x : codes.y;
  return __uint_as_float(k % 2 == 0 ? word << 16 : word & 0xFFFF0000U);
}

// Warps leave their sums in parts, which reduce_gradient_sums() adds in order. A thread has four
// columns of every eighth row.
struct GradientSumsFinish {
  static constexpr bool kHasColumnValues = false;
  static constexpr bool kRowsInnermost = false;
  struct State {
    float gradients[4] = {};
    float products[4] = {};
  };
  const std::uint16_t* g;
  bool fours;     // four channels are read at once
  float2* parts;  // [slot][warp][out]

  __device__ std::int64_t row_offset(const ConvSizes& conv, int pixel) const {
    return std::int64_t{pixel} * conv.all_columns;
  }

  __device__ void run(const ConvSizes& /*conv*/, const PieceSums<false>& acc, const Piece& piece,
                      State& state) const {
    const int column = piece.thread % 16 * 4;
    const int inside = min(4, piece.columns - column);
    if (inside <= 0) return;
    constexpr int kAtOnce = 4;
#pragma unroll 1
    for (int first = piece.thread / 16; first < kPieceRows; first += kAtOnce * 8) {
      uint2 codes[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int row = first + i * 8;
        const bool is_there = piece.frame.pixels[row] >= 0;
        codes[i] = load_gradients(g + piece.frame.offsets[row] + piece.first_channel + column,
                                  fours, is_there ? inside : 0);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int4 sums = acc.four(first + i * 8, column);
        const std::int32_t values[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float gradient = gradient_of(codes[i], k);
          state.gradients[k] = __fadd_rn(state.gradients[k], gradient);
          state.products[k] = __fmaf_rn(gradient, __int2float_rn(values[k]), state.products[k]);
        }
      }
    }
  }

  __device__ void end(const ConvSizes& conv, const State& state, const Piece& last,
                      int slot) const {
    const int column = last.thread % 16 * 4;
    float2* to = parts + (std::int64_t{slot} * 4 + last.thread / 32) * conv.all_columns +
                 last.first_channel + column;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float gradient =
          __fadd_rn(state.gradients[k], __shfl_xor_sync(0xFFFFFFFFU, state.gradients[k], 16));
      const float product =
          __fadd_rn(state.products[k], __shfl_xor_sync(0xFFFFFFFFU, state.products[k], 16));
      if (last.thread % 32 < 16 && column + k < last.columns) {
        to[k] = make_float2(gradient, product);
      }
    }
  }
};

struct NormalizeGradientFinish {
  static constexpr bool kHasColumnValues = false;
  static constexpr bool kRowsInnermost = false;
  using State = NoState;
  const float* factors;  // [out][3]
  std::uint16_t* g;
  bool fours;  // four channels are read and written at once

  __device__ std::int64_t row_offset(const ConvSizes& conv, int pixel) const {
    return std::int64_t{pixel} * conv.all_columns;
  }
  __device__ void end(const ConvSizes& /*conv*/, const State& /*state*/, const Piece& /*last*/,
                      int /*slot*/) const {}

  __device__ void run(const ConvSizes& /*conv*/, const PieceSums<false>& acc, const Piece& piece,
                      State& /*state*/) const {
    const int column = piece.thread % 16 * 4;
    const int inside = min(4, piece.columns - column);
    if (inside <= 0) return;
    float own[4][3] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= inside) continue;
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        own[i][k] = factors[(piece.first_channel + column + i) * 3 + k];
      }
    }
    constexpr int kAtOnce = 2;  // loads under way, which stores would hold up
#pragma unroll 1
    for (int first = piece.thread / 16; first < kPieceRows; first += kAtOnce * 8) {
      uint2 codes[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int row = first + i * 8;
        const bool is_there = piece.frame.pixels[row] >= 0;
        codes[i] = load_gradients(g + piece.frame.offsets[row] + piece.first_channel + column,
                                  fours, is_there ? inside : 0);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int row = first + i * 8;
        if (piece.frame.pixels[row] < 0) continue;
        const int4 sums = acc.four(row, column);
        const std::int32_t values[4] = {sums.x, sums.y, sums.z, sums.w};
        std::uint32_t made[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float rest = __fmaf_rn(own[k][1], __int2float_rn(values[k]), own[k][2]);
          const float gradient = gradient_of(codes[i], k);
          made[k] = bfloat_bits(__fmaf_rn(own[k][0], gradient, rest));
        }
        store_gradients(g + piece.frame.offsets[row] + piece.first_channel + column, inside, made);
      }
    }
  }

 private:
  __device__ void store_gradients(std::uint16_t* to, int inside,
                                  const std::uint32_t (&codes)[4]) const {
    if (fours && inside == 4) {
      *reinterpret_cast<uint2*>(to) =
          make_uint2(codes[0] | codes[1] << 16, codes[2] | codes[3] << 16);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < inside) to[i] = static_cast<std::uint16_t>(codes[i]);
    }
  }
};

}  // namespace qsim::golden::train::cuda
