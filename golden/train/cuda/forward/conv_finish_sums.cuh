// The finishes of batch normalization: ConvStatistics, ConvGradientSums, ConvNormalizeGradient.
#pragma once

#include "golden/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

// Integers: the order of the additions does not matter. `sums` began as zeros.
struct StatisticsFinish {
  static constexpr bool kRowsInnermost = false;
  std::int64_t* sums;  // [out][3]

  __device__ void run(const ConvSizes& /*conv*/, const PieceSums<false>& acc,
                      const Piece& piece) const {
    const int column = piece.thread % kPieceColumns;
    if (column >= piece.columns) return;
    constexpr int kRows = kPieceRows * kPieceColumns / kFinishThreads;
    const int first = piece.thread / kPieceColumns * kRows;
    std::int64_t sum = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
#pragma unroll 8
    for (int i = 0; i < kRows; ++i) {
      if (piece.pixels[first + i] < 0) continue;
      const std::int32_t value = acc.at(first + i, column);
      const std::int64_t square = std::int64_t{value} * value;
      sum += value;
      low += static_cast<std::uint32_t>(square);
      high += static_cast<std::uint64_t>(square) >> 32;
    }
    auto* to = reinterpret_cast<unsigned long long*>(sums) + (piece.first_channel + column) * 3;
    atomicAdd(to, static_cast<unsigned long long>(sum));
    atomicAdd(to + 1, low);
    atomicAdd(to + 2, high);
  }
};

// Each piece leaves its sums; reduce_gradient_sums() adds them in order.
struct GradientSumsFinish {
  static constexpr bool kRowsInnermost = false;
  const std::uint16_t* g;
  float2* parts;  // [piece of rows][2][out]

  __device__ void run(const ConvSizes& conv, const PieceSums<false>& acc,
                      const Piece& piece) const {
    const int column = piece.thread % kPieceColumns;
    if (column >= piece.columns) return;
    constexpr int kRows = kPieceRows * kPieceColumns / kFinishThreads;
    const int half = piece.thread / kPieceColumns;
    const int channel = piece.first_channel + column;
    float sum = 0;
    float product = 0;
#pragma unroll 8
    for (int i = 0; i < kRows; ++i) {
      const int row = half * kRows + i;
      const int pixel = piece.pixels[row];
      if (pixel < 0) continue;
      const float gradient =
          real_of(Bfloat{__ldg(g + std::int64_t{pixel} * conv.all_columns + channel)});
      sum = __fadd_rn(sum, gradient);
      product = __fmaf_rn(gradient, __int2float_rn(acc.at(row, column)), product);
    }
    parts[(std::int64_t{piece.tile} * 2 + half) * conv.all_columns + channel] =
        make_float2(sum, product);
  }
};

struct NormalizeGradientFinish {
  static constexpr bool kRowsInnermost = false;
  const float* factors;  // [out][3]
  std::uint16_t* g;
  bool fours;  // four channels are read and written at once

  __device__ void run(const ConvSizes& conv, const PieceSums<false>& acc,
                      const Piece& piece) const {
    const int column = piece.thread % 16 * 4;
    float own[4][3] = {};
    int inside = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + i >= piece.columns) continue;
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        own[i][k] = __ldg(factors + (piece.first_channel + column + i) * 3 + k);
      }
      ++inside;
    }
    if (inside == 0) return;
#pragma unroll 4
    for (int row = piece.thread / 16; row < kPieceRows; row += kFinishThreads / 16) {
      const int pixel = piece.pixels[row];
      if (pixel < 0) continue;
      std::uint16_t* at = g + std::int64_t{pixel} * conv.all_columns + piece.first_channel + column;
      const int4 sums = acc.four(row, column);
      const std::int32_t values[4] = {sums.x, sums.y, sums.z, sums.w};
      std::uint32_t codes[4] = {};
      if (fours && inside == 4) {
        const uint2 loaded = *reinterpret_cast<const uint2*>(at);
        codes[0] = loaded.x & 0xFFFF;
        codes[1] = loaded.x >> 16;
        codes[2] = loaded.y & 0xFFFF;
        codes[3] = loaded.y >> 16;
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i < inside) codes[i] = at[i];
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float rest = __fmaf_rn(own[i][1], __int2float_rn(values[i]), own[i][2]);
        const float gradient = real_of(Bfloat{static_cast<std::uint16_t>(codes[i])});
        codes[i] = bfloat_bits(__fmaf_rn(own[i][0], gradient, rest));
      }
      if (fours && inside == 4) {
        *reinterpret_cast<uint2*>(at) =
            make_uint2(codes[0] | codes[1] << 16, codes[2] | codes[3] << 16);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i < inside) at[i] = static_cast<std::uint16_t>(codes[i]);
        }
      }
    }
  }
};

}  // namespace qsim::golden::train::cuda
