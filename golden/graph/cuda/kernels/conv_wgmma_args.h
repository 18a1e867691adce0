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
//
// A 3x3 window of stride 2 is a 2x2 window of stride 1 on each of four pictures, the pixels of even
// and odd rows and columns: its *phases*. Each is a channel block of its own; 7 of the 16 taps have
// weights of 0.
#pragma once

#include <cstdint>

#include <cuda.h>

#include "golden/device/fast_divisor.h"
#include "golden/graph/cuda/output_stage.h"

namespace qsim::golden::cuda {

inline constexpr int kGroupRows = 64;  // output pixels of one wgmma
inline constexpr int kMaxWeightStages = 10;
inline constexpr int kMaxInputStages = 8;
inline constexpr int kRun = 16;             // consecutive channels of a thread
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
  int channel_blocks = 1;  // of K: the input's for each part of the weights
  int input_blocks = 1;    // of the input, over all phases
  int phases = 1;          // 4: block 4 i + 2 y + x is channel block i of the rows and columns y, x
  int input_channels = 0;  // of a pixel, where there are phases
  int channels = 0;        // of the ofmap
  int padded_channels = 0;  // rows of one tap in the weights
  FastDivisor column_blocks;
  int row_tiles = 1;
  int taps_per_stage = 1;
  int block_stages = 9;  // stages of weights of a channel block: taps / taps_per_stage
  int input_stages = 2;
  int weight_stages = 4;
  int split = 1;  // blocks of a cluster that share one tile's K
};

// What is done with the sums. kPlain: one shift, zero point 0 and the dtype's whole range; kAny:
// any shifts; kScale: requantizers that round as float32; kScaleAdd adds another tensor to that,
// and kScaleAddFirst has the other tensor as the first operand. kSplit takes all of them.
enum class Finish : std::uint8_t {
  kPlain,
  kPlainPool,
  kAny,
  kAnyPool,
  kScale,
  kScalePool,
  kScaleAdd,
  kScaleAddFirst,
  kSplit
};

QSIM_HOST_DEVICE constexpr bool pools(Finish finish) {
  return finish == Finish::kPlainPool || finish == Finish::kAnyPool || finish == Finish::kScalePool;
}

QSIM_HOST_DEVICE constexpr bool adds(Finish finish) {
  return finish == Finish::kScaleAdd || finish == Finish::kScaleAddFirst;
}

// The other operand of an addition (Addition in golden/graph/cuda/layer_plan.h).
struct OtherOperand {
  const std::uint8_t* data = nullptr;  // as the ofmap; nullptr: nothing is added
  AdderParams adder;
  bool is_first = false;
  // From a byte of its dtype to 0..255, and the float 2^23 plus what level 0 became.
  std::uint32_t turned = 0;
  float zero = 0;
};

struct ConvWgmmaArgs {
  CUtensorMap input;
  CUtensorMap weights;
  ConvGeometry geometry;
  OutputParams output;
  int shift = 0;             // of every channel, when uniform
  bool is_unsigned = false;  // what is written
  OtherOperand other;
  bool pool = false;
  std::uint8_t* output_data = nullptr;
};

}  // namespace qsim::golden::cuda
