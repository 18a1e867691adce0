// The finish to levels (ConvLevels).
#pragma once

#include "golden/train/cuda/forward/conv_finish.cuh"
#include "golden/train/cuda/forward/level_maker.cuh"

namespace qsim::golden::train::cuda {

struct LevelsFinish {
  static constexpr bool kRowsInnermost = false;
  const float* multipliers;
  const std::int32_t* bias;          // or null
  const std::int32_t* y_zero_point;  // or null
  std::int32_t lo, hi;
  bool relu;
  std::int8_t* y;
  bool fours;  // four channels are written at once
  PassBits bits;
  float* range;  // or null; began as zeros

  __device__ void run(const ConvSizes& conv, const PieceSums<false>& sums,
                      const Piece& piece) const {
    const int column = piece.thread % 16 * 4;
    const std::int32_t zero_point = y_zero_point == nullptr ? 0 : __ldg(y_zero_point);
    float factors[4] = {};
    std::uint32_t biases[4] = {};
    std::uint32_t inside = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + i >= piece.columns) continue;
      const int channel = piece.first_channel + column + i;
      factors[i] = __ldg(multipliers + channel);
      biases[i] = bias == nullptr ? 0 : static_cast<std::uint32_t>(__ldg(bias + channel));
      inside |= 1U << i;
    }
    float least = 0;
    float most = 0;
    for (int row = piece.thread / 16; row < kPieceRows; row += kFinishThreads / 16) {
      const int pixel = piece.pixels[row];
      const bool is_there = pixel >= 0 && inside != 0;
      const int4 acc = sums.four(row, column);
      const std::int32_t values[4] = {acc.x, acc.y, acc.z, acc.w};
      std::int32_t levels[4];
      std::uint32_t four = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto sum =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(values[i]) + biases[i]);
        float t = __fmul_rn(__int2float_rn(sum), factors[i]);
        const bool is_cut = relu && t <= 0;
        if (is_cut) t = 0;
        if (is_there && (inside >> i & 1) != 0 && fabsf(t) < INFINITY) {
          least = fminf(least, t);
          most = fmaxf(most, t);
        }
        bool passes;
        levels[i] = nearest_level(t, zero_point, lo, hi, passes);
        four |= (passes && !is_cut ? 1U : 0U) << i;
      }
      if (bits.passes != nullptr) {
        bits.put_four(pixel, conv.all_columns, piece.first_channel + column, is_there,
                      four & inside);
      }
      if (is_there) store(conv, pixel, piece.first_channel + column, inside, levels);
    }
    if (range != nullptr) include_range(least, most);
  }

 private:
  __device__ void store(const ConvSizes& conv, int pixel, int channel, std::uint32_t inside,
                        const std::int32_t (&levels)[4]) const {
    std::int8_t* to = y + std::int64_t{pixel} * conv.all_columns + channel;
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

  // The bits of numbers of one sign are in the order of their magnitudes.
  __device__ void include_range(float least, float most) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      least = fminf(least, __shfl_xor_sync(0xFFFFFFFFU, least, step));
      most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, step));
    }
    if (threadIdx.x % 32 != 0) return;
    auto* words = reinterpret_cast<unsigned*>(range);
    if (least < 0) atomicMax(words, __float_as_uint(least));
    if (most > 0) atomicMax(words + 1, __float_as_uint(most));
  }
};

}  // namespace qsim::golden::train::cuda
