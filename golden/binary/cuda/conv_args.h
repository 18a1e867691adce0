// What a binary convolution on a GPU is given: where its tables are and how its loops run. Plain
// numbers; conv_plan.cpp makes them on the host, and the kernels read them.
#pragma once

#include <cstdint>

#include "core/requantize.h"

namespace qsim::golden::cuda {

inline constexpr int kTileRows = 64;       // output pixels of four warps
inline constexpr int kStepWords = 4;       // 64-bit words along K of one product of 256 bits
inline constexpr int kGroupSteps = 3;      // products whose words are loaded together
inline constexpr int kStepBytes = 32;      // of one output channel
inline constexpr int kMostListed = 8;      // bases of activations, of either side
inline constexpr int kBarrierBytes = 128;  // of shared memory, before the weights

// K is the list of the words of a window, tap by tap, and zeros up to whole groups. Word
// 4 * step + q belongs to the lanes with lane % 4 == q.
struct BinaryConvArgs {
  const std::uint8_t* input = nullptr;   // words of the layer's input
  const std::uint8_t* packed = nullptr;  // the tables below, each at its offset
  void* output = nullptr;                // words, or floats where output_bases is 0

  // Bytes from `packed`.
  std::uint64_t weights =
      0;  // [channel block][chunk][step][columns][kStepBytes], see conv_plan.cpp
  std::uint64_t offsets = 0;  // int32 [group][4 lanes][4]: bytes from the window's first pixel
  std::uint64_t masks = 0;    // uint32 [class][group]: bit 4 * step + q where the word is inside
  std::uint64_t rows = 0;     // int32 [conv_height]: the class of a row, times the columns' classes
  std::uint64_t columns = 0;  // int32 [conv_width]: the class of a column
  std::uint64_t inside =
      0;  // [class][weight base][padded_channels]: sum of B_i inside; float or int
  std::uint64_t alpha = 0;  // float [weight base][padded_channels]
  std::uint64_t bias = 0;   // float [padded_channels], likewise gain and shift
  std::uint64_t gain = 0;
  std::uint64_t shift = 0;

  std::int64_t block_bytes = 0;  // weights of a channel block
  std::int32_t channel_blocks = 1;
  std::int32_t padded_channels = 0;  // of all channel blocks
  std::int32_t groups = 1;           // of steps
  std::int32_t weight_bases = 1;
  std::int32_t input_bases = 1;

  std::int32_t height = 0;  // of the input
  std::int32_t width = 0;
  std::int32_t base_bytes = 0;   // words of one base of a pixel
  std::int32_t pixel_bytes = 0;  // words of all its bases
  std::int32_t stride_h = 1;
  std::int32_t stride_w = 1;
  std::int32_t pad_top = 0;
  std::int32_t pad_left = 0;

  std::uint32_t output_rows = 0;  // pixels of the output, of all pictures
  std::uint32_t output_height = 0;
  std::uint32_t output_width = 0;
  std::int32_t pool_size = 1;
  std::int32_t pool_stride = 1;
  std::int32_t has_pool = 0;
  std::int32_t out_channels = 0;
  std::int32_t output_bases = 0;  // 0: y as floats
  std::int32_t output_base_bytes = 0;
  std::int32_t relu = 0;
  float beta[kMostListed] = {};
  float v[kMostListed] = {};
};

// Which kernel: how many channels a block has, how many bases of the weights it sums at a time.
enum class BinaryTile : std::uint8_t {
  kPortable,    // 64 channels, base after base
  kAnyBases,    // the same with wgmma
  kOneBase,     // 128 channels, one base of weights
  kOneByOne,    // 128 channels, one base of weights and one of activations
  kTwoBases,    // 64 channels, two bases of weights
  kThreeBases,  // 64 channels, three
};

struct BinaryTileShape {
  int channels;    // of a channel block
  int chunk;       // bases of weights at a time
  int warpgroups;  // of a block of threads
  QSIM_HOST_DEVICE constexpr int columns() const { return channels * chunk; }
};

QSIM_HOST_DEVICE constexpr BinaryTileShape shape_of(BinaryTile tile) {
  switch (tile) {
    case BinaryTile::kOneBase:
      return {128, 1, 2};
    case BinaryTile::kOneByOne:
      return {128, 1, 2};
    case BinaryTile::kTwoBases:
      return {64, 2, 2};
    case BinaryTile::kThreeBases:
      return {64, 3, 2};
    case BinaryTile::kAnyBases:
      return {64, 1, 3};
    case BinaryTile::kPortable:
      break;
  }
  return {64, 1, 1};
}

}  // namespace qsim::golden::cuda
