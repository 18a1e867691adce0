// The finish to real numbers (ConvReal): channels or pixels of y innermost in memory.
#pragma once

#include "golden/kernels/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

struct RealFinishArgs {
  const float* scale;
  const float* w_scales;
  const float* bias;  // or null
  bool relu;
  RealTensor y;
  PassBits bits;
  bool fours;  // four neighbours are written at once: their addresses are aligned
};

// Four neighbours, or fewer where `count` says so.
__device__ inline void store_reals(const RealTensor& y, std::int64_t at, std::int64_t step,
                                   const float (&values)[4], bool four, std::uint32_t inside) {
  if (y.type == RealType::kFloat32) {
    auto* to = static_cast<float*>(y.data) + at;
    if (four) {
      *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((inside >> i & 1) != 0) to[i * step] = values[i];
    }
    return;
  }
  auto* to = static_cast<std::uint16_t*>(y.data) + at;
  std::uint32_t codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    codes[i] = y.type == RealType::kFloat16 ? half_bits(values[i]) : bfloat_bits(values[i]);
  }
  if (four) {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(codes[0] | codes[1] << 16, codes[2] | codes[3] << 16);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if ((inside >> i & 1) != 0) to[i * step] = static_cast<std::uint16_t>(codes[i]);
  }
}

// A channel's factor and bias.
__device__ inline float2 real_channel(const RealFinishArgs& args, int channel) {
  return make_float2(__fmul_rn(*args.scale, args.w_scales[channel]),
                     args.bias == nullptr ? 0.0F : args.bias[channel]);
}

// `passes`: its bit.
__device__ inline float finish_real(const RealFinishArgs& args, std::int32_t acc, float factor,
                                    float bias, bool& passes) {
  float value = __fmul_rn(__int2float_rn(acc), factor);
  if (args.bias != nullptr) value = __fadd_rn(value, bias);
  passes = !args.relu || value > 0;
  return passes ? value : 0.0F;
}

__device__ inline std::int64_t real_offset(const RealTensor& y, const ConvSizes& conv, int pixel) {
  const PixelPlace place(conv, pixel);
  return place.batch * y.strides[0] + place.y * y.strides[1] + place.x * y.strides[2];
}

// Channels are neighbours in memory, or strides are any.
struct RealChannelsFinish {
  static constexpr bool kHasColumnValues = true;
  static constexpr bool kRowsInnermost = false;
  using State = NoState;
  RealFinishArgs args;

  __device__ float2 column_values(int channel) const { return real_channel(args, channel); }
  __device__ std::int64_t row_offset(const ConvSizes& conv, int pixel) const {
    return real_offset(args.y, conv, pixel);
  }
  __device__ void end(const ConvSizes& /*conv*/, const State& /*state*/, const Piece& /*last*/,
                      int /*slot*/) const {}

  __device__ void run(const ConvSizes& conv, const PieceSums<false>& sums, const Piece& piece,
                      State& /*state*/) const {
    const int column = piece.thread % 16 * 4;
    const int count = min(4, piece.columns - column);
    const std::uint32_t inside = count <= 0 ? 0 : (1U << count) - 1;
    const std::int64_t step = args.y.strides[3];
#pragma unroll 1
    for (int row = piece.thread / 16; row < kPieceRows; row += kFinishThreads / 16) {
      const int pixel = piece.frame.pixels[row];
      const int4 acc = sums.four(row, column);
      float values[4];
      bool passes[4];
      const float4 factors = *reinterpret_cast<const float4*>(piece.frame.columns[0] + column);
      const float4 biases = *reinterpret_cast<const float4*>(piece.frame.columns[1] + column);
      values[0] = finish_real(args, acc.x, factors.x, biases.x, passes[0]);
      values[1] = finish_real(args, acc.y, factors.y, biases.y, passes[1]);
      values[2] = finish_real(args, acc.z, factors.z, biases.z, passes[2]);
      values[3] = finish_real(args, acc.w, factors.w, biases.w, passes[3]);
      const bool is_there = pixel >= 0 && inside != 0;
      if (args.bits.passes != nullptr) {
        std::uint32_t four = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) four |= (passes[i] ? 1U : 0U) << i;
        args.bits.put_four(pixel, conv.all_columns, piece.first_channel + column, is_there,
                           four & inside);
      }
      if (!is_there) continue;
      const std::int64_t at = piece.frame.offsets[row] + (piece.first_channel + column) * step;
      store_reals(args.y, at, step, values, args.fours && inside == 15, inside);
    }
  }
};

// Pixels of a picture are neighbours in memory: NCHW.
struct RealPixelsFinish {
  static constexpr bool kHasColumnValues = true;
  static constexpr bool kRowsInnermost = true;
  using State = NoState;
  RealFinishArgs args;

  __device__ float2 column_values(int channel) const { return real_channel(args, channel); }
  __device__ std::int64_t row_offset(const ConvSizes& conv, int pixel) const {
    return real_offset(args.y, conv, pixel);
  }
  __device__ void end(const ConvSizes& /*conv*/, const State& /*state*/, const Piece& /*last*/,
                      int /*slot*/) const {}

  __device__ void run(const ConvSizes& conv, const PieceSums<true>& sums, const Piece& piece,
                      State& /*state*/) const {
    const int row = piece.thread % 16 * 4;
    const int first_column = piece.thread / 32 * 16;  // 16 columns a warp, two at a time
    const int odd = piece.thread / 16 % 2;
    std::int64_t offsets[4];
    std::uint32_t inside = 0;
    bool neighbours = args.fours;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int pixel = piece.frame.pixels[row + i];
      inside |= (pixel >= 0 ? 1U : 0U) << i;
      offsets[i] = piece.frame.offsets[row + i];
      neighbours = neighbours && pixel >= 0 && offsets[i] == offsets[0] + i;
    }
    neighbours = neighbours && offsets[0] % 4 == 0;
    std::uint32_t bits[4] = {};
#pragma unroll 2
    for (int i = 0; i < 8; ++i) {
      const int column = first_column + 2 * i + odd;
      if (column >= piece.columns) continue;
      const int channel = piece.first_channel + column;
      const float factor = piece.frame.columns[0][column];
      const float bias = piece.frame.columns[1][column];
      const int4 acc = sums.four(column, row);
      float values[4];
      bool passes[4];
      values[0] = finish_real(args, acc.x, factor, bias, passes[0]);
      values[1] = finish_real(args, acc.y, factor, bias, passes[1]);
      values[2] = finish_real(args, acc.z, factor, bias, passes[2]);
      values[3] = finish_real(args, acc.w, factor, bias, passes[3]);
#pragma unroll
      for (int k = 0; k < 4; ++k) bits[k] |= (passes[k] ? 1U : 0U) << (2 * i + odd);
      const std::int64_t to = channel * args.y.strides[3];
      if (neighbours) {
        store_reals(args.y, offsets[0] + to, 1, values, true, inside);
      } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float one[4] = {values[k]};
          store_reals(args.y, offsets[k] + to, 1, one, false, inside >> k & 1);
        }
      }
    }
    if (args.bits.passes != nullptr) store_bits(conv, piece, row, first_column, odd, bits);
  }

 private:
  // 16 channels of four pixels, by the threads of the even columns.
  __device__ void store_bits(const ConvSizes& conv, const Piece& piece, int row, int first_column,
                             int odd, std::uint32_t (&bits)[4]) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      bits[k] |= __shfl_xor_sync(0xFFFFFFFFU, bits[k], 16);
      const int pixel = piece.frame.pixels[row + k];
      if (odd != 0 || pixel < 0 || first_column >= piece.columns) continue;
      const std::int64_t first =
          std::int64_t{pixel} * conv.all_columns + piece.first_channel + first_column;
      if (args.bits.words) {  // 16 channels are two whole bytes
        *reinterpret_cast<std::uint16_t*>(args.bits.passes + first / 8) =
            static_cast<std::uint16_t>(bits[k]);
      } else if (args.bits.bytes) {
        args.bits.passes[first / 8] = static_cast<std::uint8_t>(bits[k]);
        if (first_column + 8 < piece.columns) {
          args.bits.passes[first / 8 + 1] = static_cast<std::uint8_t>(bits[k] >> 8);
        }
      } else {
        add_bits(args.bits.passes, first, bits[k]);
      }
    }
  }
};

}  // namespace qsim::golden::train::cuda
