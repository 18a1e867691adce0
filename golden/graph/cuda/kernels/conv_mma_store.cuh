// From the accumulators of conv_mma's warps to bytes of the ofmap: finish, pool, store.
#pragma once

#include <type_traits>

#include "golden/graph/cuda/kernels/conv_mma.h"
#include "golden/graph/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {

// The constants of kCount neighbouring channels in registers: read together, and once for all
// pixels. `first` is a multiple of kCount.
template <int kCount, FinishKind kKind>
class ChannelConstants {
 public:
  __device__ ChannelConstants(const OutputParams& params, int first) : params_(params) {
    read(params.fold + first, fold_);
    if constexpr (kKind != FinishKind::kScale) read(params.shift + first, shift_);
    if constexpr (kKind == FinishKind::kGeneral) read(params.bias + first, bias_);
    if (kKind == FinishKind::kScale || (kKind == FinishKind::kGeneral && params.scale != nullptr)) {
      read(params.scale + first, scale_);
    }
  }

  // The output value of channel first + c.
  __device__ std::int32_t value(std::int32_t acc, int c) const {
    return finish_as<kKind>(params_, acc, column(c));
  }
  // That of a pooling window of four accumulators. Narrow sums do not wrap when the fold is added,
  // and what follows is monotone: the largest may be taken first.
  __device__ std::int32_t largest(const std::int32_t (&acc)[4], int c) const {
    if constexpr (kKind != FinishKind::kGeneral) {
      return value(max(max(acc[0], acc[1]), max(acc[2], acc[3])), c);
    }
    std::int32_t largest = params_.lo;
#pragma unroll
    for (int i = 0; i < 4; ++i) largest = max(largest, value(acc[i], c));
    return largest;
  }

 private:
  template <typename T>
  __device__ static void read(const T* from, T (&to)[kCount]) {
    if constexpr (kCount == 4) {
      using Four = std::conditional_t<std::is_same_v<T, float>, float4, int4>;
      const Four four = *reinterpret_cast<const Four*>(from);
      to[0] = four.x;
      to[1] = four.y;
      to[2] = four.z;
      to[3] = four.w;
    } else {
      for (int c = 0; c < kCount; ++c) to[c] = from[c];
    }
  }

  __device__ ColumnParams column(int c) const { return {fold_[c], bias_[c], shift_[c], scale_[c]}; }

  const OutputParams& params_;
  std::int32_t fold_[kCount];
  std::int32_t bias_[kCount] = {};
  std::int32_t shift_[kCount] = {};
  float scale_[kCount] = {};
};

// Stores the first `count` of kWords * 4 bytes. A whole store must be aligned to its size.
template <int kWords>
__device__ inline void store_bytes(std::uint8_t* to, const std::uint32_t (&words)[kWords],
                                   int count, bool aligned) {
  if (aligned && count >= kWords * 4) {
    if constexpr (kWords == 4) {
      *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
    } else {
      *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kWords * 4; ++i) {
    if (i < count) to[i] = static_cast<std::uint8_t>(words[i / 4] >> (i % 4 * 8));
  }
}

// What one lane holds: rows g + 8 * r, r < kRows / 8, which are the pixels 32 * (r / 4) + 4 * g +
// r % 4 of the warp, and kColumns / 4 neighbouring channels from `channel`.
template <typename Tile, FinishKind kKind>
class MmaStore {
 public:
  using Sums = std::int32_t[Tile::kRows / 16][Tile::kColumns / 8][4];

  __device__ MmaStore(const MmaConv& conv, int first_pixel, int channel)
      : conv_(conv), first_pixel_(first_pixel), channel_(channel) {}

  __device__ void store(const Sums& sums) const {
    if (conv_.pool) {
      store_pooled(sums);
    } else {
      store_pixels(sums);
    }
  }

 private:
  static constexpr int kLaneRows = Tile::kRows / 8;
  static constexpr int kLaneChannels = Tile::kColumns / 4;
  static constexpr int kWords = kLaneChannels / 4;

  __device__ static std::int32_t sum(const Sums& sums, int row, int c) {
    return sums[row / 2][c / 2][row % 2 * 2 + c % 2];
  }

  __device__ void store_pixels(const Sums& sums) const {
    std::uint32_t words[kLaneRows][kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const ChannelConstants<4, kKind> constants(conv_.params, channel_ + word * 4);
#pragma unroll
      for (int row = 0; row < kLaneRows; ++row) {
        std::int32_t values[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          values[c] = constants.value(sum(sums, row, word * 4 + c), c);
        }
        words[row][word] = pack_bytes(values);
      }
    }
#pragma unroll
    for (int row = 0; row < kLaneRows; ++row) {
      const int pixel = first_pixel_ + row / 4 * 32 + row % 4;
      if (pixel < conv_.pixels) write(pixel, words[row]);
    }
  }

  __device__ void store_pooled(const Sums& sums) const {
    std::uint32_t words[kLaneRows / 4][kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const ChannelConstants<4, kKind> constants(conv_.params, channel_ + word * 4);
#pragma unroll
      for (int w = 0; w < kLaneRows / 4; ++w) {
        std::int32_t values[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int at = word * 4 + c;
          const std::int32_t four[4] = {sum(sums, w * 4, at), sum(sums, w * 4 + 1, at),
                                        sum(sums, w * 4 + 2, at), sum(sums, w * 4 + 3, at)};
          values[c] = constants.largest(four, c);
        }
        words[w][word] = pack_bytes(values);
      }
    }
#pragma unroll
    for (int w = 0; w < kLaneRows / 4; ++w) {
      const int pixel = first_pixel_ + w * 32;
      if (pixel < conv_.pixels) write(pixel / 4, words[w]);
    }
  }

  __device__ void write(int pixel, const std::uint32_t (&words)[kWords]) const {
    const bool aligned = conv_.out_channels % kLaneChannels == 0;
    store_bytes<kWords>(
        conv_.output + static_cast<std::int64_t>(pixel) * conv_.out_channels + channel_, words,
        conv_.out_channels - channel_, aligned);
  }

  const MmaConv& conv_;
  int first_pixel_;
  int channel_;
};

}  // namespace qsim::golden::cuda
