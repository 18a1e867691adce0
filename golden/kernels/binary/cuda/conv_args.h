// What a binary convolution on a GPU is given: where its tables are and how its loops run. Plain
// numbers; conv_plan.cpp makes them on the host, and the kernels read them.
#pragma once

#include <cstdint>

#include "core/numerics/requantize.h"
#include "golden/device/fast_divisor.h"

namespace qsim::golden::cuda {

inline constexpr int kTileRows = 64;         // output pixels of four warps
inline constexpr int kStepWords = 4;         // 64-bit words along K of one product of 256 bits
inline constexpr int kStepBytes = 32;        // of one output channel, or of one pixel
inline constexpr int kMostStageSteps = 9;    // of the input in shared memory at a time
inline constexpr int kMostListed = 8;        // bases of activations, of either side
inline constexpr int kMostRasterSteps = 64;  // of the kernels that keep rows of the picture
inline constexpr int kMostPieces = 8;        // in which a segment of a raster arrives
inline constexpr int kUnitBytes = 16;        // of two words of a pixel
inline constexpr int kWarpgroupThreads = 128;
inline constexpr float kBias = 12582912.0F;            // 1.5 * 2^23
inline constexpr std::int32_t kBiasBits = 0x4B400000;  // its bits

// The kernels that keep rows of the picture see all pictures as one raster: picture after picture,
// row after row, with pads between them that neighbours share. An output pixel is at the place of
// its window's first pixel, so that each tap of all windows lies at one distance. A worker takes
// `range` places in tiles of 64; those that are not output pixels are not written.
struct RasterArgs {
  FastDivisor pitch;         // places of a row
  FastDivisor picture_rows;  // of a picture and its pads
  std::uint32_t end = 0;     // after the last output pixel
  std::uint32_t range = 0;
  std::int32_t workers = 1;        // of each channel block
  std::int32_t segment_tiles = 1;  // that are in shared memory together
  std::int32_t buffers = 1;        // of segments
  std::int32_t buffer_pixels = 0;  // places of a segment and the halo after it
  std::int32_t halo = 0;
  std::int32_t piece_shift = 7;  // of the places of a piece: 128 and more
  std::uint64_t signs = 0;       // the channels of a unit that holds a word and its opposite, or 0
  std::int32_t units = 1;        // of a base of a pixel
  std::int32_t pair = 0;  // with one word a pixel, a unit also has the word so many places on
  // In shared memory, in bytes: the common tables; PlaceInfo [buffer][pixel]; int32 [buffer][base]
  // [pixel], the ones of a place; float of the same, kBias and twice the ones of its window; the
  // words, [buffer][base][unit][pixel][kUnitBytes].
  std::int32_t at_common = 0;
  std::int32_t at_infos = 0;
  std::int32_t at_counts = 0;
  std::int32_t at_ones = 0;
  std::int32_t at_planes = 0;
  std::int32_t batch = 1;
  std::int32_t kernel_h = 1;
  std::int32_t kernel_w = 1;
  std::int32_t tap_row = 1;  // places from a tap to the one below, and to the next
  std::int32_t tap_column = 1;
  // By step: where its first half starts, in units, and from bit 16 on how far away its second half
  // is.
  std::uint32_t step_at[kMostRasterSteps] = {};
};

// K is the list of the words of a window, tap by tap, and zeros up to whole stages of steps. Word
// 4 * step + q of a step belongs to the lanes with lane % 4 == q of mma.sync.
struct BinaryConvArgs {
  const std::uint8_t* input = nullptr;   // words of the layer's input
  const std::uint8_t* packed = nullptr;  // the common tables, then those of each channel block
  void* output = nullptr;                // words, or floats where output_bases is 0
  std::int32_t constant = 0;  // 1: `packed` may be read before the launch before has ended

  // The common tables, bytes from `packed`.
  std::uint32_t masks = 0;    // uint32 [class][mask_words]: bit kw where word kw is inside
  std::uint32_t rows = 0;     // int32 [conv_height]: class of a row, times the columns' classes
  std::uint32_t columns = 0;  // int32 [conv_width]: class of a column
  std::uint32_t common_bytes = 0;  // and int32 [kw] at 0: bytes from the window's first pixel
  std::int32_t mask_words = 1;

  // The tables of a channel block, bytes from its own: first weights [chunk][step][columns]
  // [kStepBytes], see conv_plan.cpp; then, of its channels alone,
  std::int64_t inside = 0;  // [class][weight base][channels]: int32, the sum of
                            // B_i inside, or kBiasBits less it
  std::int64_t alpha = 0;   // float [weight base][channels]
  std::int64_t bias = 0;    // float [channels], likewise gain and shift
  std::int64_t gain = 0;
  std::int64_t shift = 0;
  std::int64_t block_bytes = 0;

  std::int32_t channel_blocks = 1;
  std::int32_t steps = 1;  // of the weights; a multiple of stage_steps
  std::int32_t stage_steps = 1;
  std::int32_t stages = 1;     // of each warpgroup that multiplies
  std::int32_t has_pairs = 0;  // words of a step come in pairs of 16 aligned bytes
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
  RasterArgs raster;  // of the kernels that keep rows
  float beta[kMostListed] = {};
  float thresholds[kMostListed] = {};  // a bit is 1 where the batch norm's result is not below
};

// Which kernel: how many channels a block has, how many bases of the weights it sums at a time.
enum class BinaryTile : std::uint8_t {
  kPortable,    // 64 channels, base after base
  kAnyBases,    // the same with wgmma
  kOneBase,     // 128 channels, one base of weights
  kOneByOne,    // 128 channels, one base of weights and one of activations
  kTwoBases,    // 64 channels, two bases of weights
  kThreeBases,  // 64 channels, three
  // The same with rows of the picture in shared memory, from where each tap is read.
  kRowsAny,       // 64 channels, base after base
  kRowsWide,      // 128 channels, base after base
  kRowsOneByOne,  // 128 channels, one base of weights and one of activations
  kRowsTwo,       // 64 channels, two bases of weights
  kRowsThree,     // 64 channels, three
  // The same for one word a pixel, from signs: each bit of an activation and its opposite.
  kSignsAny,    // 64 channels, base after base
  kSignsTwo,    // 64 channels, two bases of weights
  kSignsThree,  // 64 channels, three
};

QSIM_HOST_DEVICE constexpr bool has_signs(BinaryTile tile) { return tile >= BinaryTile::kSignsAny; }
constexpr bool keeps_rows(BinaryTile tile) { return tile >= BinaryTile::kRowsAny; }

struct BinaryTileShape {
  int channels;    // of a channel block
  int chunk;       // bases of weights at a time
  int warpgroups;  // that multiply
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
    case BinaryTile::kRowsAny:
    case BinaryTile::kSignsAny:
      return {64, 1, 3};
    case BinaryTile::kRowsWide:
      return {128, 1, 2};
    case BinaryTile::kRowsOneByOne:
      return {128, 1, 2};
    case BinaryTile::kRowsTwo:
    case BinaryTile::kSignsTwo:
      return {64, 2, 2};
    case BinaryTile::kRowsThree:
    case BinaryTile::kSignsThree:
      return {64, 3, 2};
    case BinaryTile::kPortable:
      break;
  }
  return {64, 1, 1};
}

// Where things are in the shared memory of a block of threads of the wgmma kernels, in bytes.
struct SharedPlaces {
  static constexpr int kStageBytesOfStep = kTileRows * kStepBytes;
  static constexpr int kBarriers = 256;                  // at 0
  static constexpr int kCounts = 2 * 2 * kTileRows * 4;  // popcounts of a warpgroup, two sets

  // The block's tables, the common ones, the counts, the stages, then what a pool keeps.
  QSIM_HOST_DEVICE static constexpr std::int64_t round(std::int64_t bytes) {
    return (bytes + 127) / 128 * 128;
  }
  QSIM_HOST_DEVICE static constexpr std::int64_t block() { return kBarriers; }
  QSIM_HOST_DEVICE static constexpr std::int64_t common(const BinaryConvArgs& args) {
    return round(block() + args.block_bytes);
  }
  QSIM_HOST_DEVICE static constexpr std::int64_t counts(const BinaryConvArgs& args) {
    return round(common(args) + args.common_bytes);
  }
  QSIM_HOST_DEVICE static constexpr std::int64_t stages(const BinaryConvArgs& args,
                                                        int warpgroups) {
    return counts(args) + warpgroups * kCounts;
  }
  QSIM_HOST_DEVICE static constexpr std::int64_t kept(const BinaryConvArgs& args, int warpgroups) {
    return stages(args, warpgroups) +
           std::int64_t{warpgroups} * args.stages * args.stage_steps * kStageBytesOfStep;
  }
  QSIM_HOST_DEVICE static constexpr std::int64_t end(const BinaryConvArgs& args,
                                                     const BinaryTileShape& shape) {
    const int kept_bytes =
        args.has_pool != 0 ? shape.channels / 2 * shape.warpgroups * kWarpgroupThreads * 4 : 0;
    return kept(args, shape.warpgroups) + kept_bytes;
  }
};

// The same for the kernels that keep rows of the picture: barriers at 0, then the block's tables,
// and the rest at places of RasterArgs.
inline constexpr std::int32_t kRasterBarriers = 256;

// A place of the raster as an output pixel: its class of windows, and its number or kNoPixel.
struct PlaceInfo {
  std::int32_t windows;
  std::uint32_t pixel;
};
inline constexpr std::uint32_t kNoPixel = 0xFFFFFFFFU;

}  // namespace qsim::golden::cuda
