// From the counts of a tile to y, and from y to floats or to the next layer's words. A thread has
// two rows (pixels) and kChannels / 4 channels in a row; value 4 * t + 2 * h + e of it is row h,
// channel 2 * t + e of these.
#pragma once

#include <cstdint>

#include "golden/kernels/binary/cuda/kernels/window_words.cuh"

namespace qsim::golden::cuda {

// Calls function(r, value) for the first kCount numbers of a lane's channels. A table of a channel
// block has four channels of each of the four lanes in turn; `lane_numbers` are the lane's first.
template <int kCount, typename T, typename Function>
__device__ inline void for_each_number(const T* lane_numbers, const Function& function) {
  struct alignas(16) Four {
    T values[4];
  };
#pragma unroll
  for (int r = 0; r < kCount; r += 4) {
    const Four four = *reinterpret_cast<const Four*>(lane_numbers + 4 * r);
#pragma unroll
    for (int k = 0; k < 4; ++k) function(r + k, four.values[k]);
  }
}

__device__ inline constexpr int value_index(int r, int h) { return r / 2 * 4 + 2 * h + r % 2; }

// float32(dot) with dot = 4 popcount(a & b) - 2 popcount(a) - (sum of b inside), which is right mod
// 2^32. kBiased: `inside` is kBiasBits less that sum, so that an integer sum of it is the bits of
// the float kBias + 4 popcount(a & b) - (sum of b inside). Taking kBias + 2 popcount(a) from it is
// exact: the plan keeps all of them in 2^23..2^24, where floats are integers.
template <bool kBiased>
struct RowDots {
  std::int32_t ones;

  __device__ explicit RowDots(std::int32_t row_ones) : ones(-2 * row_ones) {}
  __device__ float of(std::int32_t both, std::int32_t inside) const {
    const std::uint32_t rest =
        static_cast<std::uint32_t>(ones) - static_cast<std::uint32_t>(inside);
    return __int2float_rn(static_cast<std::int32_t>(4U * static_cast<std::uint32_t>(both) + rest));
  }
};
template <>
struct RowDots<true> {
  float ones;

  __device__ explicit RowDots(std::int32_t row_ones)
      : ones(kBias + static_cast<float>(2 * row_ones)) {}
  // `biased_ones` is kBias plus twice the ones of the row.
  __device__ explicit RowDots(float biased_ones) : ones(biased_ones) {}
  __device__ float of(std::int32_t both, std::int32_t inside) const {
    return __fsub_rn(__int_as_float(4 * both + inside), ones);
  }
};

// s = fma(beta, dot, s) of one base of activations and kChunk of weights, from `first_base` on.
template <int kChannels, int kChunk, bool kBiased, typename Ones>
__device__ inline void add_dots(const BinaryConvArgs& args, const std::uint8_t* lane_tables,
                                const std::int32_t (&windows)[2], std::int32_t first_base,
                                const std::int32_t (&both)[kChannels * kChunk / 2],
                                const Ones (&ones)[2], float beta,
                                float (&s)[kChannels * kChunk / 2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const RowDots<kBiased> dots(ones[h]);
    const auto* inside = table<std::int32_t>(lane_tables, args.inside) +
                         (windows[h] * args.weight_bases + first_base) * kChannels;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      for_each_number<kChannels / 4>(inside + i * kChannels, [&](int r, std::int32_t number) {
        const int at = i * kChannels / 2 + value_index(r, h);
        s[at] = __fmaf_rn(beta, dots.of(both[at], number), s[at]);
      });
    }
  }
}

// The same for counts of unequal signs: dot = products - 2 * count. A count is a float's bits,
// count
// * 2^-149; both terms and the dot are times 2^-23, and beta is times 2^23. Exact: a dot has less
// than 2^24 products.
template <int kValues>
__device__ inline void add_signs(const std::int32_t (&unequal)[kValues], const float (&products)[2],
                                 float beta, float (&s)[kValues]) {
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    const float dot = __fmaf_rn(__int_as_float(unequal[i]), -0x1p127F, products[i / 2 % 2]);
    s[i] = __fmaf_rn(beta, dot, s[i]);
  }
}

// y = fma(alpha_i, s_i, y) of kChunk bases in ascending order; with `kFirst` from the bias on.
template <int kChannels, int kChunk, bool kFirst>
__device__ inline void add_bases(const BinaryConvArgs& args, const std::uint8_t* lane_tables,
                                 std::int32_t first_base, const float (&s)[kChannels * kChunk / 2],
                                 float (&y)[kChannels / 2]) {
  const float* bias = table<float>(lane_tables, args.bias);
  const float* alphas = table<float>(lane_tables, args.alpha) + first_base * kChannels;
#pragma unroll
  for (int r = 0; r < kChannels / 4; r += 4) {
    float sums[2][4];
    if constexpr (kFirst) {
      for_each_number<4>(bias + 4 * r,
                         [&](int k, float number) { sums[0][k] = sums[1][k] = number; });
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k) sums[k / 4][k % 4] = y[value_index(r + k % 4, k / 4)];
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      for_each_number<4>(alphas + i * kChannels + 4 * r, [&](int k, float alpha) {
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
__device__ inline void write_floats(const BinaryConvArgs& args, const std::uint32_t (&rows)[2],
                                    std::int32_t first_channel, const float (&y)[kChannels / 2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t row = rows[h];
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

// 1 where a >= b, 0 where it is not or one is NaN. No predicate is waited for.
__device__ inline float is_not_below(float a, float b) {
  float one_or_zero;
  asm("set.ge.f32.f32 %0, %1, %2;" : "=f"(one_or_zero) : "f"(a), "f"(b));
  return one_or_zero;
}

// Bit r is 1 where value r of kCount of row h is not below the threshold. Sums of distinct powers
// of two below 2^24 are exact.
template <int kCount, int kValues>
__device__ inline std::uint32_t bits_of(const float (&m)[kValues], int first, int h,
                                        float threshold) {
  float sums[2] = {0, 0};
#pragma unroll
  for (int r = 0; r < kCount; ++r) {
    sums[r % 2] = __fmaf_rn(is_not_below(m[value_index(first + r, h)], threshold),
                            static_cast<float>(1 << r), sums[r % 2]);
  }
  return static_cast<std::uint32_t>(__fadd_rn(sums[0], sums[1]));
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
// writes by itself; channels beyond the last are 0. ReLU and quantizer are one comparison
// (stage_threshold() of conv_plan.cpp).
template <int kChannels>
__device__ inline void write_bits(const BinaryConvArgs& args, const std::uint8_t* lane_tables,
                                  const std::uint32_t (&rows)[2], std::int32_t first_channel,
                                  float (&m)[kChannels / 2]) {
  constexpr int kRun = kChannels / 4;
#pragma unroll
  for (int first = 0; first < kRun; first += 4) {
    float shifts[4];
    for_each_number<4>(table<float>(lane_tables, args.shift) + 4 * first,
                       [&](int k, float shift) { shifts[k] = shift; });
    for_each_number<4>(table<float>(lane_tables, args.gain) + 4 * first, [&](int k, float gain) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float& value = m[value_index(first + k, h)];
        value = __fmaf_rn(gain, value, shifts[k]);
      }
    });
  }
  const std::int32_t left = args.out_channels - first_channel;
  const std::uint32_t used = left >= kRun ? 0xFFFFFFFFu >> (32 - kRun)
                             : left <= 0  ? 0
                                          : (1u << left) - 1;
  if (first_channel / 8 >= args.output_base_bytes) return;  // beyond the last word
  using Piece = typename PieceOf<kRun / 8>::Type;
  const std::int64_t row_bytes = std::int64_t{args.output_bases} * args.output_base_bytes;
  std::uint8_t* first = static_cast<std::uint8_t*>(args.output) + first_channel / 8;
  std::uint8_t* to[2] = {first + rows[0] * row_bytes, first + rows[1] * row_bytes};
#pragma unroll 1
  for (int base = 0; base < args.output_bases; ++base) {
    const float threshold = args.thresholds[base];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      std::uint32_t bits = bits_of<16>(m, 0, h, threshold);
      if constexpr (kRun == 32) bits |= bits_of<16>(m, 16, h, threshold) << 16;
      if (rows[h] < args.output_rows) {
        *reinterpret_cast<Piece*>(to[h]) = static_cast<Piece>(bits & used);
      }
      to[h] += args.output_base_bytes;
    }
  }
}

}  // namespace qsim::golden::cuda
