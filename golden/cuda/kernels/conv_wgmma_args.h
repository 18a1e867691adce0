// How a convolution is cut for the Hopper kernel, and its arguments.
//
// GEMM view: rows are output pixels, columns output channels, K runs over channel blocks of 64 or
// 128 channels and, within each, over the taps of the window. Rows come in groups of 64 (one
// wgmma). A *unit* is a box of input pixels, with its halo, that one tensor copy brings to shared
// memory; the rows of all taps are read from it by moving the operand's start, so that each input
// pixel travels once per channel block and not once per tap. Two ways to lay rows on a unit:
//   squares   one group is 8 x 8 pixels; its 8-row groups are picture rows, `pitch` apart.
//   stripes   rows count through the box as it lies, pads included: any width; the pads' rows are
//             computed and dropped. A 1x1 window makes one long stripe of all pixels.
#pragma once

#include <cstdint>

#include <cuda.h>

#include "golden/cuda/kernels/fast_divisor.h"
#include "golden/cuda/output_stage.h"

namespace qsim::golden::cuda {

inline constexpr int kGroupRows = 64;  // output pixels of one wgmma
inline constexpr int kMaxWeightStages = 10;
inline constexpr int kMaxInputStages = 8;
inline constexpr int kBoxAlignment = 1024;  // of swizzled boxes in shared memory

// A tile: kWarpgroups consumer warpgroups, each with kGroups groups of rows, times kN columns.
template <int kWarpgroupsOf, int kGroupsOf, int kNOf>
struct TileShape {
  static constexpr int kWarpgroups = kWarpgroupsOf;
  static constexpr int kGroups = kGroupsOf;
  static constexpr int kN = kNOf;
  static constexpr int kTileGroups = kWarpgroups * kGroups;
  static constexpr int kConsumers = 128 * kWarpgroups;  // threads
  static constexpr int kThreads = kConsumers + 128;     // and the producer's warpgroup
  // What setmaxnreg gives either, out of 65,536 / kThreads at entry.
  static constexpr int kProducerRegisters = kWarpgroups == 2 ? 56 : 32;
  static constexpr int kConsumerRegisters = kWarpgroups == 2 ? 224 : 112;
};

struct ConvGeometry {
  FastDivisor units_x;        // units across a picture
  FastDivisor picture_units;  // units of a picture
  int units = 1;              // over the batch
  int step_x = 8;             // output pixels that a unit covers
  int step_y = 8;
  int unit_shift = 0;        // a unit is 2^unit_shift groups of rows
  int pitch = 10;            // pixels of a box row
  FastDivisor row_pitch{8};  // rows of the GEMM per picture row of the unit
  int group_stride = 10;     // pixels from one 8-row group to the next
  int unit_bytes = 0;        // of the box
  int unit_stride = 0;       // bytes from one box to the next in shared memory
  int kernel_w = 3;
  int taps = 9;
  int pad_left = 1;
  int pad_top = 1;
  int width = 0;  // of the ofmap
  int height = 0;
  int channel_blocks = 1;
  int channels = 0;         // of the ofmap
  int padded_channels = 0;  // rows of one tap in the weights
  FastDivisor column_blocks;
  int row_tiles = 1;
  int taps_per_stage = 1;
  int block_stages = 9;  // stages of weights of a channel block: taps / taps_per_stage
  int input_stages = 2;
  int weight_stages = 4;
  int split = 1;  // blocks of a cluster that share one tile's K
};

struct ConvWgmmaArgs {
  CUtensorMap input;
  CUtensorMap weights;
  ConvGeometry geometry;
  OutputParams output;
  int shift = 0;             // of every channel, when uniform
  bool is_unsigned = false;  // the ofmap
  bool pool = false;
  std::uint8_t* output_data = nullptr;
};

}  // namespace qsim::golden::cuda
