// What the first layer's two kernels (conv_first.cuh, conv_first_plain.cuh) share: their argument,
// the tile of a block, its patch of pixels in shared memory and whole stores.
#pragma once

#include "golden/device/launch.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/graph/cuda/output_stage.h"

namespace qsim::golden::cuda {

inline constexpr int kFirstThreads = 128;
inline constexpr int kFirstTileX = 32;
inline constexpr int kFirstTileY = 16;  // at most
inline constexpr int kFirstLeastTileY = 4;
inline constexpr int kFirstTaps = 8;  // window positions of one mma.sync

struct FirstConv {
  const std::uint8_t* input;
  const uint2* weights;  // [groups][steps][column groups of 8][lane]: b0 and b1 of multiply_a
  std::uint8_t* output;
  OutputParams params;
  int height, width, channels;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
  int out_height, out_width, out_channels;  // of the ofmap
  int tile_h;                               // even, kFirstTileY at most
  int patch_h, patch_w;
  int steps;  // kFirstTaps window positions each
  int tiles_x, tiles_y, tiles;
  std::uint32_t fill;  // the zero point, four times
  bool pool;
  int shift;  // of all channels, in the plain case

  QSIM_HOST_DEVICE int weight_words() const { return steps * (out_channels / 8) * 32; }
  QSIM_HOST_DEVICE int taps() const { return steps * kFirstTaps; }
  QSIM_HOST_DEVICE int patch_pixels() const { return patch_h * patch_w; }
};

// Where a pixel lies in a patch.
struct PatchPlace {
  std::uint16_t y;
  std::uint16_t x;
};

// Where a block's tile lies: picture, first row and column of the ofmap.
struct FirstTile {
  int picture;
  int y;
  int x;

  __device__ FirstTile(const FirstConv& conv, int tile)
      : picture(tile / conv.tiles_x / conv.tiles_y),
        y(tile / conv.tiles_x % conv.tiles_y * conv.tile_h),
        x(tile % conv.tiles_x * kFirstTileX) {}

  // Goes on by `step` tiles, of which the constructor made the argument: no division.
  __device__ void advance(const FirstConv& conv, const FirstTile& step) {
    x += step.x;
    y += step.y;
    picture += step.picture;
    if (x >= conv.tiles_x * kFirstTileX) {
      x -= conv.tiles_x * kFirstTileX;
      y += conv.tile_h;
    }
    if (y >= conv.tiles_y * conv.tile_h) {
      y -= conv.tiles_y * conv.tile_h;
      ++picture;
    }
  }
};

// The word of a pixel whose bytes begin at `bytes`; those beyond its channels meet weights of 0.
// kChannels: how many, 0 for conv.channels.
template <int kChannels>
__device__ inline std::uint32_t packed_pixel(const FirstConv& conv, const std::uint8_t* bytes) {
  if constexpr (kChannels == 3) {
    return bytes[0] + 0x100U * bytes[1] + 0x10000U * bytes[2];
  } else {
    const int last = conv.channels - 1;
    return bytes[0] | std::uint32_t{bytes[min(1, last)]} << 8 |
           std::uint32_t{bytes[min(2, last)]} << 16 |
           (last == 3 ? std::uint32_t{bytes[3]} << 24 : 0);
  }
}

// Reads without a branch (outside the picture its first pixel), so that several pixels are under
// way at once.
template <int kChannels>
__device__ inline void load_pixels(const FirstConv& conv, const FirstTile& tile,
                                   const PatchPlace* places, std::uint32_t* patch) {
  constexpr int kUnderWay = 5;
  const int channels = kChannels > 0 ? kChannels : conv.channels;
  const int row_bytes = conv.width * channels;
  const std::uint8_t* picture =
      conv.input + static_cast<std::int64_t>(tile.picture) * conv.height * row_bytes;
  const int top = tile.y * conv.stride_h - conv.pad_top;
  const int left = tile.x * conv.stride_w - conv.pad_left;
  const int count = conv.patch_pixels();
  for (int first = threadIdx.x; first < count; first += kFirstThreads * kUnderWay) {
    std::uint32_t words[kUnderWay];
#pragma unroll
    for (int j = 0; j < kUnderWay; ++j) {
      const PatchPlace place = places[min(first + j * kFirstThreads, count - 1)];
      const int y = top + place.y;
      const int x = left + place.x;
      const bool inside = static_cast<unsigned>(y) < static_cast<unsigned>(conv.height) &&
                          static_cast<unsigned>(x) < static_cast<unsigned>(conv.width);
      const std::int64_t offset = static_cast<std::int64_t>(inside ? y : 0) * row_bytes +
                                  static_cast<std::int64_t>(inside ? x : 0) * channels;
      const std::uint32_t word = packed_pixel<kChannels>(conv, picture + offset);
      words[j] = inside ? word : conv.fill;
    }
#pragma unroll
    for (int j = 0; j < kUnderWay; ++j) {
      if (first + j * kFirstThreads < count) patch[first + j * kFirstThreads] = words[j];
    }
  }
}

__device__ inline void load_patch(const FirstConv& conv, const FirstTile& tile,
                                  const PatchPlace* places, std::uint32_t* patch) {
  if (conv.channels == 3) {
    load_pixels<3>(conv, tile, places, patch);
  } else {
    load_pixels<0>(conv, tile, places, patch);
  }
}

__device__ inline void set_places(const FirstConv& conv, PatchPlace* places) {
  for (int i = threadIdx.x; i < conv.patch_pixels(); i += kFirstThreads) {
    places[i] = {static_cast<std::uint16_t>(i / conv.patch_w),
                 static_cast<std::uint16_t>(i % conv.patch_w)};
  }
}

// The way from a pixel of the patch to that of a window position; 0 where there is none.
__device__ inline int tap_offset(const FirstConv& conv, int tap) {
  const bool real = tap < conv.kernel_h * conv.kernel_w;
  return real ? tap / conv.kernel_w * conv.patch_w + tap % conv.kernel_w : 0;
}

// Stores kBytes (2, 4, 8 or 16; aligned to as many) from the words' start.
template <int kBytes>
__device__ inline void store_whole(std::uint8_t* to, const std::uint32_t* words) {
  if constexpr (kBytes == 16) {
    *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
  } else if constexpr (kBytes == 8) {
    *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
  } else if constexpr (kBytes == 4) {
    *reinterpret_cast<std::uint32_t*>(to) = words[0];
  } else {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(words[0]);
  }
}

}  // namespace qsim::golden::cuda
