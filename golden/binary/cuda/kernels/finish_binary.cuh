// From the counts of a tile to y, and from y to floats or to the next layer's words. A thread has
// two rows (pixels) and kChannels / 4 channels in a row; value 4 * t + 2 * h + e of it is row h,
// channel 2 * t + e of these.
#pragma once

#include <cstdint>

#include "golden/binary/cuda/kernels/window_words.cuh"

namespace qsim::golden::cuda {

// Calls function(r, value) for the kCount numbers at `numbers`, which is a multiple of 16. The
// loads keep the source's order, so that few are in registers at a time.
template <int kCount, typename T, typename Function>
__device__ inline void for_each_number(const T* numbers, const Function& function) {
#pragma unroll
  for (int r = 0; r < kCount; r += 4) {
    std::uint32_t bits[4];
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
                 : "l"(numbers + r));
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if constexpr (sizeof(T) == sizeof(float) && T(1) / 2 != T(0)) {
        function(r + k, __uint_as_float(bits[k]));
      } else {
        function(r + k, static_cast<std::int32_t>(bits[k]));
      }
    }
  }
}

__device__ inline constexpr int value_index(int r, int h) { return r / 2 * 4 + 2 * h + r % 2; }

// dot = 4 popcount(a & b) - 2 popcount(a) - (sum of b inside), and float32(dot). In floats each of
// the sums is exact, since the plan has 4 * products <= 2^24.
__device__ inline float float_of_dot(std::int32_t both, std::int32_t ones, float inside) {
  const float rest = __fsub_rn(static_cast<float>(-2 * ones), inside);
  return __fmaf_rn(4.0F, __int2float_rn(both), rest);
}
// In integers mod 2^32, of which the dot is right.
__device__ inline float float_of_dot(std::int32_t both, std::int32_t ones, std::int32_t inside) {
  const std::uint32_t dot = 4U * static_cast<std::uint32_t>(both) -
                            2U * static_cast<std::uint32_t>(ones) -
                            static_cast<std::uint32_t>(inside);
  return __int2float_rn(static_cast<std::int32_t>(dot));
}

// s = fma(beta, dot, s) of one base of activations and kChunk of weights, from `first_base` on.
template <int kChannels, int kChunk, typename Number>
__device__ inline void add_dots(const BinaryConvArgs& args, const WindowPlace (&places)[2],
                                std::int32_t first_base, std::int32_t first_channel,
                                const std::int32_t (&both)[kChannels * kChunk / 2],
                                const std::int32_t (&ones)[2], float beta,
                                float (&s)[kChannels * kChunk / 2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const Number* inside =
        table<Number>(args, args.inside) +
        (places[h].windows * args.weight_bases + first_base) * args.padded_channels + first_channel;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      for_each_number<kChannels / 4>(inside + i * args.padded_channels, [&](int r, Number number) {
        const int at = i * kChannels / 2 + value_index(r, h);
        s[at] = __fmaf_rn(beta, float_of_dot(both[at], ones[h], number), s[at]);
      });
    }
  }
}

// y = fma(alpha_i, s_i, y) of kChunk bases in ascending order; with `kFirst` from the bias on.
template <int kChannels, int kChunk, bool kFirst>
__device__ inline void add_bases(const BinaryConvArgs& args, std::int32_t first_base,
                                 std::int32_t first_channel,
                                 const float (&s)[kChannels * kChunk / 2],
                                 float (&y)[kChannels / 2]) {
  const auto* bias = reinterpret_cast<const float4*>(table<float>(args, args.bias) + first_channel);
  const float* alphas =
      table<float>(args, args.alpha) + first_base * args.padded_channels + first_channel;
#pragma unroll
  for (int r = 0; r < kChannels / 4; r += 4) {
    float sums[2][4];
    if constexpr (kFirst) {
      const float4 four = __ldg(bias + r / 4);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sums[h][0] = four.x;
        sums[h][1] = four.y;
        sums[h][2] = four.z;
        sums[h][3] = four.w;
      }
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k) sums[k / 4][k % 4] = y[value_index(r + k % 4, k / 4)];
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      for_each_number<4>(alphas + i * args.padded_channels + r, [&](int k, float alpha) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float value = s[i * kChannels / 2 + value_index(r + k, h)];
          sums[h][k] = __fmaf_rn(alpha, value, sums[h][k]);
        }
      });
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) y[value_index(r + k % 4, k / 4)] = sums[k / 4][k % 4];
  }
}

template <int kChannels>
__device__ inline void write_floats(const BinaryConvArgs& args, std::uint32_t first_row,
                                    std::int32_t first_channel, const float (&y)[kChannels / 2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t row = first_row + 8 * h;
    if (row >= args.output_rows) continue;
    float* to =
        static_cast<float*>(args.output) + static_cast<std::int64_t>(row) * args.out_channels;
#pragma unroll
    for (int r = 0; r < kChannels / 4; ++r) {
      const float value = y[value_index(r, h)];
      if (first_channel + r >= args.out_channels) continue;
      to[first_channel + r] = isnan(value) ? __uint_as_float(0x7FC00000u) : value;
    }
  }
}

template <int kBytes>
struct PieceOf;
template <>
struct PieceOf<2> {
  using Type = std::uint16_t;
};
template <>
struct PieceOf<4> {
  using Type = std::uint32_t;
};

// Batch norm, ReLU and quantizer. A thread's channels are kChannels / 4 bits of the word, which it
// writes by itself; channels beyond the last are 0.
template <int kChannels>
__device__ inline void write_bits(const BinaryConvArgs& args, std::uint32_t first_row,
                                  std::int32_t first_channel, float (&m)[kChannels / 2]) {
  constexpr int kRun = kChannels / 4;
  const float* shifts = table<float>(args, args.shift) + first_channel;
  for_each_number<kRun>(table<float>(args, args.gain) + first_channel, [&](int r, float gain) {
    const float shift = __ldg(shifts + r);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float z = __fmaf_rn(gain, m[value_index(r, h)], shift);
      m[value_index(r, h)] = args.relu != 0 && z < 0.0F ? 0.0F : z;
    }
  });
  const std::int32_t left = args.out_channels - first_channel;
  const std::uint32_t used = left >= kRun ? 0xFFFFFFFFu >> (32 - kRun)
                             : left <= 0  ? 0
                                          : (1u << left) - 1;
  if (first_channel / 8 >= args.output_base_bytes) return;  // beyond the last word
  using Piece = typename PieceOf<kRun / 8>::Type;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t row = first_row + 8 * h;
    if (row >= args.output_rows) continue;
    auto* to = static_cast<std::uint8_t*>(args.output) +
               static_cast<std::int64_t>(row) * args.output_bases * args.output_base_bytes +
               first_channel / 8;
    for (int base = 0; base < args.output_bases; ++base, to += args.output_base_bytes) {
      const float v = args.v[base];
      std::uint32_t bits = 0;
#pragma unroll
      for (int r = 0; r < kRun; ++r) {
        bits |= (__fadd_rn(m[value_index(r, h)], v) > 0.5F ? 1u : 0u) << r;
      }
      *reinterpret_cast<Piece*>(to) = static_cast<Piece>(bits & used);
    }
  }
}

}  // namespace qsim::golden::cuda
