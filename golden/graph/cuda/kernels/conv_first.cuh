// The first layer's kernel: up to four input channels, so that a pixel is one 32-bit word and a
// register of mma.sync's A operand. A block computes a tile of tile_h x kFirstTileX ofmap pixels of
// one picture; gemm_k counts window position * 4 + channel. A warp computes two rows of 16 pixels
// at a time: lane (g, q) holds the pooling window at x = 2g. conv_first_plain.cuh has the plain
// case's.
#pragma once

#include "golden/graph/cuda/kernels/conv_first_tile.cuh"
#include "golden/graph/cuda/kernels/conv_mma_store.cuh"

namespace qsim::golden::cuda {

// Groups of 8 channels that a warp computes at most at once: 8 stores 16 bytes a lane, 4 stores 8
// and leaves registers for more warps.
inline constexpr int kFirstMostGroup = 8;

// Blocks of a multiprocessor, by the registers that the accumulators leave.
constexpr int first_blocks(int group, FinishKind kind) {
  return group == 8 ? 3 : kind == FinishKind::kGeneral ? 4 : 5;
}

// The block's shared memory, in this order.
struct FirstShared {
  uint2* weights;
  int* tap_offsets;    // from a pixel of the patch to that of each window position
  PatchPlace* places;  // of the patch's pixels
  std::uint32_t* patch;

  __device__ FirstShared(const FirstConv& conv)
      : weights(reinterpret_cast<uint2*>(dynamic_shared())),
        tap_offsets(reinterpret_cast<int*>(weights + conv.weight_words())),
        places(reinterpret_cast<PatchPlace*>(tap_offsets + conv.taps())),
        patch(reinterpret_cast<std::uint32_t*>(places + conv.patch_pixels())) {}

  static std::size_t bytes(const FirstConv& conv) {
    return sizeof(uint2) * conv.weight_words() + sizeof(int) * conv.taps() +
           (sizeof(PatchPlace) + sizeof(std::uint32_t)) * conv.patch_pixels();
  }
};

__device__ inline void load_first(const FirstConv& conv, const FirstTile& tile,
                                  const FirstShared& shared) {
  for (int i = threadIdx.x; i < conv.weight_words(); i += kFirstThreads) {
    shared.weights[i] = conv.weights[i];
  }
  for (int tap = threadIdx.x; tap < conv.taps(); tap += kFirstThreads) {
    shared.tap_offsets[tap] = tap_offset(conv, tap);
  }
  set_places(conv, shared.places);
  __syncthreads();
  load_patch(conv, tile, shared.places, shared.patch);
}

// sums[dy][j][dx * 2 + e]: pixel (dy, dx) of the lane's window, channel 2j + e of its channels.
template <bool kUnsigned, int kGroup>
__device__ void multiply_first(const FirstConv& conv, const FirstShared& shared, int corner,
                               int group, std::int32_t (&sums)[2][kGroup][4]) {
  const int lane = threadIdx.x % 32;
  const std::uint32_t* upper = shared.patch + corner;
  const std::uint32_t* lower = upper + conv.stride_h * conv.patch_w;
  for (int step = 0; step < conv.steps; ++step) {
    const int near = shared.tap_offsets[step * kFirstTaps + lane % 4];
    const int far = shared.tap_offsets[step * kFirstTaps + 4 + lane % 4];
    const int right = conv.stride_w;
    const std::uint32_t a[2][4] = {
        {upper[near], upper[near + right], upper[far], upper[far + right]},
        {lower[near], lower[near + right], lower[far], lower[far + right]}};
    const uint2* weights = shared.weights + (group * conv.steps + step) * kGroup * 32 + lane;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      const uint2 b = weights[j * 32];
      multiply_a<kUnsigned>(sums[0][j], a[0], b.x, b.y);
      multiply_a<kUnsigned>(sums[1][j], a[1], b.x, b.y);
    }
  }
}

// A lane's accumulators of one channel: the pixels (0, 0), (0, 1), (1, 0), (1, 1) of its window.
struct FirstWindow {
  std::int32_t sums[4];

  template <int kGroup>
  __device__ FirstWindow(const std::int32_t (&all)[2][kGroup][4], int c)
      : sums{all[0][c / 2][c % 2], all[0][c / 2][2 + c % 2], all[1][c / 2][c % 2],
             all[1][c / 2][2 + c % 2]} {}
};

// Finishes and stores the lane's window, whose first pixel is (y, x) of the ofmap.
template <int kGroup, FinishKind kKind>
__device__ void store_window(const FirstConv& conv, int picture, int y, int x, int channel,
                             const std::int32_t (&sums)[2][kGroup][4]) {
  constexpr int kBytes = kGroup * 2;
  constexpr int kCount = kBytes < 4 ? kBytes : 4;  // channels of a word
  std::uint32_t words[4][kBytes / kCount];
#pragma unroll
  for (int word = 0; word < kBytes / kCount; ++word) {
    const ChannelConstants<kCount, kKind> constants(conv.params, channel + word * 4);
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      std::int32_t values[4] = {};
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        values[c] = constants.value(FirstWindow(sums, word * 4 + c).sums[p], c);
      }
      words[p][word] = pack_bytes(values);
    }
  }
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    if (y + p / 2 >= conv.out_height || x + p % 2 >= conv.out_width) continue;
    const std::int64_t pixel =
        (static_cast<std::int64_t>(picture) * conv.out_height + y + p / 2) * conv.out_width + x +
        p % 2;
    store_whole<kBytes>(conv.output + pixel * conv.out_channels + channel, words[p]);
  }
}

// The same with its largest values alone.
template <int kGroup, FinishKind kKind>
__device__ void store_pooled(const FirstConv& conv, int picture, int y, int x, int channel,
                             const std::int32_t (&sums)[2][kGroup][4]) {
  constexpr int kBytes = kGroup * 2;
  constexpr int kCount = kBytes < 4 ? kBytes : 4;  // channels of a word
  std::uint32_t words[kBytes / kCount];
#pragma unroll
  for (int word = 0; word < kBytes / kCount; ++word) {
    const ChannelConstants<kCount, kKind> constants(conv.params, channel + word * 4);
    std::int32_t values[4] = {};
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      values[c] = constants.largest(FirstWindow(sums, word * 4 + c).sums, c);
    }
    words[word] = pack_bytes(values);
  }
  if (y >= conv.out_height || x >= conv.out_width) return;
  const std::int64_t pixel =
      (static_cast<std::int64_t>(picture) * (conv.out_height / 2) + y / 2) * (conv.out_width / 2) +
      x / 2;
  store_whole<kBytes>(conv.output + pixel * conv.out_channels + channel, words);
}

// kGroup: groups of 8 channels that a warp computes at once.
template <bool kUnsigned, int kGroup, FinishKind kKind>
__global__ void __launch_bounds__(kFirstThreads, first_blocks(kGroup, kKind))
    conv_first_kernel(const __grid_constant__ FirstConv conv) {
  begin_kernel();
  constexpr int kUnitsX = kFirstTileX / 16;
  const int units = kUnitsX * conv.tile_h / 2;
  const FirstShared shared(conv);
  const FirstTile tile(conv, static_cast<int>(blockIdx.x));
  load_first(conv, tile, shared);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  for (int unit = threadIdx.x / 32; unit < units; unit += kFirstThreads / 32) {
    const int y = unit / kUnitsX * 2;
    const int x = unit % kUnitsX * 16 + lane / 4 * 2;
    const int corner = y * conv.stride_h * conv.patch_w + x * conv.stride_w;
    for (int group = 0; group < conv.out_channels / (8 * kGroup); ++group) {
      std::int32_t sums[2][kGroup][4] = {};
      multiply_first<kUnsigned, kGroup>(conv, shared, corner, group, sums);
      const int channel = group * 8 * kGroup + lane % 4 * 2 * kGroup;
      if (conv.pool) {
        store_pooled<kGroup, kKind>(conv, tile.picture, tile.y + y, tile.x + x, channel, sums);
      } else {
        store_window<kGroup, kKind>(conv, tile.picture, tile.y + y, tile.x + x, channel, sums);
      }
    }
  }
}

}  // namespace qsim::golden::cuda
