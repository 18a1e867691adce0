// The first layer's kernel of the plain case: one shift > 0 for all channels, zero point 0,
// half_even, narrow, lo..hi the whole range of the ofmap's dtype (pack4's saturation is the clamp),
// channels in multiples of 64, up to 12 window positions. Integer instructions of an output value
// bound it. Tiles are as in conv_first.cuh, but a block stays for several.
#pragma once

#include "golden/graph/cuda/kernels/conv_first_tile.cuh"
#include "golden/graph/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {

inline constexpr int kPlainGroup = 8;      // groups of 8 channels of a warp
inline constexpr int kPlainTaps = 12;      // one step of 8 window positions and one of 4
inline constexpr int kPlainSteps = 2;      // of the packed weights
inline constexpr int kPlainChannels = 16;  // consecutive ones of a lane

// Blocks of a multiprocessor; a fifth would cost the unpooled kernel an eighth more instructions.
constexpr int plain_blocks(bool pool) { return pool ? 5 : 4; }

// What a lane keeps in registers over all tiles of its block.
struct PlainLane {
  uint2 eight[kPlainGroup];         // the weights of window positions 0..7
  std::uint32_t four[kPlainGroup];  // and 8..11
  int near, far, last;              // tap_offset() of the lane's window positions
  int channel;                      // the first of the lane's

  __device__ PlainLane(const FirstConv& conv, int group) {
    const int lane = threadIdx.x % 32;
    channel = group * 8 * kPlainGroup + lane % 4 * kPlainChannels;
    const uint2* weights = conv.weights + group * kPlainSteps * kPlainGroup * 32 + lane;
#pragma unroll
    for (int j = 0; j < kPlainGroup; ++j) {
      eight[j] = weights[j * 32];
      four[j] = weights[(kPlainGroup + j) * 32].x;
    }
    near = tap_offset(conv, lane % 4);
    far = tap_offset(conv, 4 + lane % 4);
    last = tap_offset(conv, 8 + lane % 4);
  }
};

// starts[j * 4 + q]: where the sums of group j in lane q of a quad begin, so that no fold is added.
__device__ inline void set_starts(const FirstConv& conv, int group, int4* starts) {
  for (int i = threadIdx.x; i < kPlainGroup * 4; i += kFirstThreads) {
    const std::int32_t* fold =
        conv.params.fold + group * 8 * kPlainGroup + i % 4 * kPlainChannels + i / 4 * 2;
    starts[i] = {fold[0], fold[1], fold[0], fold[1]};
  }
}

// The A operands of two rows of 16 pixels: [row], the window positions near (both pixels of the
// lane), far and last.
struct PlainPixels {
  std::uint32_t eight[2][4];
  std::uint32_t four[2][2];

  // `right`: from the lane's first pixel to its second; `below`: to the second row.
  __device__ PlainPixels(const PlainLane& lane, const std::uint32_t* corner, int right, int below) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const std::uint32_t* at = corner + row * below;
      eight[row][0] = at[lane.near];
      eight[row][1] = at[lane.near + right];
      eight[row][2] = at[lane.far];
      eight[row][3] = at[lane.far + right];
      four[row][0] = at[lane.last];
      four[row][1] = at[lane.last + right];
    }
  }
};

// Four channels of a pixel, from its place `dx` in the sums of two neighbouring groups.
template <bool kUnsignedOut>
__device__ inline std::uint32_t plain_word(const std::int32_t (&sums)[2][4], int dx, int shift) {
  __builtin_assume(shift > 0);
  std::int32_t values[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    values[c] = rounding_shift(sums[c / 2][dx * 2 + c % 2], shift, RoundingMode::kHalfEven);
  }
  return pack4(values[0], values[1], values[2], values[3], kUnsignedOut);
}

// words[p][w]: channels 4w.. of the lane's 16, of pixel p = row * 2 + dx; pooled, p is 0 only.
template <bool kUnsigned, bool kUnsignedOut, bool kPool>
__device__ inline void plain_words(const FirstConv& conv, const PlainLane& lane, const int4* starts,
                                   const PlainPixels& pixels,
                                   std::uint32_t (&words)[kPool ? 1 : 4][4]) {
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    std::int32_t sums[2][2][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = word * 2 + i % 2;
      multiply_eight<kUnsigned>(sums[i / 2][i % 2], pixels.eight[i / 2], lane.eight[j],
                                starts[j * 4]);
      multiply_four<kUnsigned>(sums[i / 2][i % 2], pixels.four[i / 2][0], pixels.four[i / 2][1],
                               lane.four[j]);
    }
    if constexpr (kPool) {
      // Requantization is monotone: the largest psum gives the largest value.
      std::int32_t largest[2][4];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        largest[c / 2][c % 2] = max(max(sums[0][c / 2][c % 2], sums[0][c / 2][2 + c % 2]),
                                    max(sums[1][c / 2][c % 2], sums[1][c / 2][2 + c % 2]));
      }
      words[0][word] = plain_word<kUnsignedOut>(largest, 0, conv.shift);
    } else {
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        words[p][word] = plain_word<kUnsignedOut>(sums[p / 2], p % 2, conv.shift);
      }
    }
  }
}

// Stores the lane's pixels: rows y and y + 1, columns x and x + dx. Pooled: the one of that window.
template <bool kPool>
__device__ inline void store_plain(const FirstConv& conv, int picture, int y, int x, int dx,
                                   int channel, const std::uint32_t (&words)[kPool ? 1 : 4][4]) {
  constexpr int kPooled = kPool ? 2 : 1;
  const std::int64_t row =
      static_cast<std::int64_t>(picture) * (conv.out_height / kPooled) + y / kPooled;
  std::uint8_t* to =
      conv.output + (row * (conv.out_width / kPooled) + x / kPooled) * conv.out_channels + channel;
#pragma unroll
  for (int p = 0; p < (kPool ? 1 : 4); ++p) {
    if (y + p / 2 < conv.out_height && x + p % 2 * dx < conv.out_width) {
      const std::int64_t pixel = p / 2 * static_cast<std::int64_t>(conv.out_width) + p % 2 * dx;
      store_whole<16>(to + pixel * conv.out_channels, words[p]);
    }
  }
}

// Block b computes channels 64 * (b % groups).. of the tiles b / groups, + gridDim.x / groups, ...
// One of two patches is loaded while slower warps still compute from the other.
template <bool kUnsigned, bool kUnsignedOut, bool kPool>
__global__ void __launch_bounds__(kFirstThreads, plain_blocks(kPool))
    conv_first_plain(const __grid_constant__ FirstConv conv) {
  begin_kernel();
  constexpr int kUnitsX = kFirstTileX / 16;
  const int groups = conv.out_channels / (8 * kPlainGroup);
  const int step = static_cast<int>(gridDim.x) / groups;
  auto* starts = reinterpret_cast<int4*>(dynamic_shared());
  auto* places = reinterpret_cast<PatchPlace*>(starts + kPlainGroup * 4);
  auto* patches = reinterpret_cast<std::uint32_t*>(places + conv.patch_pixels());
  set_places(conv, places);
  set_starts(conv, static_cast<int>(blockIdx.x) % groups, starts);
  const PlainLane lane(conv, static_cast<int>(blockIdx.x) % groups);
  const FirstTile advance(conv, step);
  const int first = static_cast<int>(blockIdx.x) / groups;
  FirstTile tile(conv, first);
  __syncthreads();
  // A pooling window lies in one lane; otherwise 8 neighbouring pixels lie in a store.
  const int lane_x = threadIdx.x % 32 / 4 * (kPool ? 2 : 1);
  constexpr int kDx = kPool ? 1 : 8;
  int buffer = 0;
  for (int i = first; i < conv.tiles; i += step) {
    std::uint32_t* patch = patches + buffer * conv.patch_pixels();
    load_patch(conv, tile, places, patch);
    __syncthreads();
#pragma unroll 1  // unrolled, the pooled kernel would spill
    for (int unit = threadIdx.x / 32; unit < kUnitsX * conv.tile_h / 2;
         unit += kFirstThreads / 32) {
      const int y = unit / kUnitsX * 2;
      const int x = unit % kUnitsX * 16 + lane_x;
      const PlainPixels pixels(lane, patch + y * conv.stride_h * conv.patch_w + x * conv.stride_w,
                               kDx * conv.stride_w, conv.stride_h * conv.patch_w);
      std::uint32_t words[kPool ? 1 : 4][4];
      plain_words<kUnsigned, kUnsignedOut, kPool>(conv, lane, starts + threadIdx.x % 4, pixels,
                                                  words);
      store_plain<kPool>(conv, tile.picture, tile.y + y, tile.x + x, kDx, lane.channel, words);
    }
    tile.advance(conv, advance);
    buffer ^= 1;
  }
}

inline std::size_t plain_shared_bytes(const FirstConv& conv) {
  return sizeof(int4) * kPlainGroup * 4 +
         (sizeof(PatchPlace) + 2 * sizeof(std::uint32_t)) * conv.patch_pixels();
}

}  // namespace qsim::golden::cuda
