// The finish to levels (ConvLevels).
#pragma once

#include "golden/kernels/train/cuda/forward/conv_finish.cuh"
#include "golden/kernels/train/cuda/forward/level_maker.cuh"

namespace qsim::golden::train::cuda {

struct LevelsFinish {
  static constexpr bool kHasColumnValues = true;
  static constexpr bool kRowsInnermost = false;
  struct State {
    float least = 0;
    float most = 0;
  };
  const float* multipliers;
  const std::int32_t* bias;          // or null
  const std::int32_t* y_zero_point;  // or null
  std::int32_t lo, hi;
  bool relu;
  std::int8_t* y;
  bool fours;  // four channels are written at once
  PassBits bits;
  float* range;  // or null; began as zeros

  // The multiplier, and the bits of the bias.
  __device__ float2 column_values(int channel) const {
    return make_float2(multipliers[channel], __int_as_float(bias == nullptr ? 0 : bias[channel]));
  }
  __device__ std::int64_t row_offset(const ConvSizes& conv, int pixel) const {
    return std::int64_t{pixel} * conv.all_columns;
  }

  __device__ void run(const ConvSizes& conv, const PieceSums<false>& sums, const Piece& piece,
                      State& state) const {
    const int column = piece.thread % 16 * 4;
    const std::int32_t zero_point = y_zero_point == nullptr ? 0 : *y_zero_point;
    const int count = min(4, piece.columns - column);
    const std::uint32_t inside = count <= 0 ? 0 : (1U << count) - 1;
#pragma unroll 1
    for (int row = piece.thread / 16; row < kPieceRows; row += kFinishThreads / 16) {
      const int pixel = piece.frame.pixels[row];
      const bool is_there = pixel >= 0 && inside != 0;
      const int4 acc = sums.four(row, column);
      const std::int32_t values[4] = {acc.x, acc.y, acc.z, acc.w};
      const float4 four_factors = *reinterpret_cast<const float4*>(piece.frame.columns[0] + column);
      const int4 four_biases = *reinterpret_cast<const int4*>(piece.frame.columns[1] + column);
      const float factors[4] = {four_factors.x, four_factors.y, four_factors.z, four_factors.w};
      const std::int32_t biases[4] = {four_biases.x, four_biases.y, four_biases.z, four_biases.w};
      std::int32_t levels[4];
      std::uint32_t four = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(values[i]) +
                                                   static_cast<std::uint32_t>(biases[i]));
        float t = __fmul_rn(__int2float_rn(sum), factors[i]);
        const bool is_cut = relu && t <= 0;
        if (is_cut) t = 0;
        if (is_there && (inside >> i & 1) != 0 && fabsf(t) < INFINITY) {
          state.least = fminf(state.least, t);
          state.most = fmaxf(state.most, t);
        }
        bool passes;
        levels[i] = nearest_level(t, zero_point, lo, hi, passes);
        four |= (passes && !is_cut ? 1U : 0U) << i;
      }
      if (bits.passes != nullptr) {
        bits.put_four(pixel, conv.all_columns, piece.first_channel + column, is_there,
                      four & inside);
      }
      if (is_there)
        store(y + piece.frame.offsets[row] + piece.first_channel + column, inside, levels);
    }
  }

  // The bits of numbers of one sign are in the order of their magnitudes.
  __device__ void end(const ConvSizes& /*conv*/, State state, const Piece& /*last*/,
                      int /*slot*/) const {
    if (range == nullptr) return;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      state.least = fminf(state.least, __shfl_xor_sync(0xFFFFFFFFU, state.least, step));
      state.most = fmaxf(state.most, __shfl_xor_sync(0xFFFFFFFFU, state.most, step));
    }
    if (threadIdx.x % 32 != 0) return;
    auto* words = reinterpret_cast<unsigned*>(range);
    if (state.least < 0) atomicMax(words, __float_as_uint(state.least));
    if (state.most > 0) atomicMax(words + 1, __float_as_uint(state.most));
  }

 private:
  __device__ void store(std::int8_t* to, std::uint32_t inside,
                        const std::int32_t (&levels)[4]) const {
    if (fours && inside == 15) {
      *reinterpret_cast<std::uint32_t*>(to) =
          four_bytes(levels[0], levels[1], levels[2], levels[3]);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((inside >> i & 1) != 0) to[i] = static_cast<std::int8_t>(levels[i]);
    }
  }
};

}  // namespace qsim::golden::train::cuda
