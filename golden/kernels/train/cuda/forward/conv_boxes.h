// How a convolution is cut for Hopper's tensor cores and copy engine.
//
// GEMM view: rows are output pixels, columns output channels. A *unit* is 64 pixels, 8 x 8 of a
// picture or, for a 1x1 window, 64 in a line. The copy engine brings its box of input pixels, with
// its halo, to shared memory, 64 channels at a time; the rows of all taps are read from it by
// moving the operand's start. With strides each tap has a box of its own, which leaves pixels out.
// A job is four units, one for each warpgroup, times 64 or 128 columns.
#pragma once

#include <optional>

#include <cuda.h>

#include "golden/device/fast_divisor.h"
#include "golden/kernels/train/cuda/forward/conv_sizes.h"

namespace qsim::golden::train::cuda {

inline constexpr int kBoxWarpgroups = 4;                        // that multiply
inline constexpr int kBoxThreads = 128 * (kBoxWarpgroups + 1);  // the last brings operands
inline constexpr int kBoxRowBytes = 64;                         // channels of a block
inline constexpr int kMostInputStages = 4;
inline constexpr int kMostWeightStages = 12;

struct BoxConv {
  CUtensorMap input;
  CUtensorMap weights;
  golden::cuda::FastDivisor units_x;        // units across a picture
  golden::cuda::FastDivisor picture_units;  // units of a picture
  golden::cuda::FastDivisor column_blocks;
  int units;  // over the batch
  int jobs;
  int blocks;   // a multiple of the column blocks: job i is block i % blocks', whose columns stay
  int columns;  // of a job; 64 with a zero_point
  int taps_per_stage;  // of weights: 3 in a window three wide, else 1
  int block_stages;    // stages of weights of a channel block
  int tap_blocks;      // that have the same channels: with strides a box is of one tap, else 1
  int channel_blocks;  // times tap_blocks
  int is_line;         // 1: all pixels in one line
  int pitch;           // pixels of a box row
  int group_stride;    // pixels from 8 rows to the next
  int unit_bytes;      // of a box
  int unit_stride;     // bytes from one box to the next in shared memory
  int input_stages, weight_stages;
  int keeps_weights;  // 1: all weights stay in shared memory
  int lead_stages;    // that each warpgroup begins after the one before it
  int shared_bytes;   // dynamic
  const std::int32_t*
      zero_sums;  // of conv_zero_sums.h, which the launch gives; null: no zero_point
};

// The plan; none for groups, strides above 8, channels that are not a multiple of 16, unaligned
// tensors, a zero_point with many taps, and boxes that do not fit.
std::optional<BoxConv> plan_boxes(const ConvSizes& conv, int multiprocessors);

// What the current device has. The instructions are those of compute capability 9.0.
int multiprocessors();
bool has_box_instructions();

}  // namespace qsim::golden::train::cuda
