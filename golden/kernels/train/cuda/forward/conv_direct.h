// Convolutions in small groups, depthwise ones among them, without tensor cores: how they are cut.
//
// A block has 64 output channels and, one after the other, units of 8 x 8 output pixels. It brings
// the unit's box of input to shared memory, in words of four channels. A thread has four channels,
// a *quad*, of eight pixels; its channels read the same words, each with weights of its own, which
// are 0 for the channels of other groups.
#pragma once

#include <optional>

#include "golden/device/fast_divisor.h"
#include "golden/kernels/train/cuda/forward/conv_sizes.h"

namespace qsim::golden::train::cuda {

struct DirectConv {
  golden::cuda::FastDivisor units_x;        // units across a picture
  golden::cuda::FastDivisor picture_units;  // units of a picture
  golden::cuda::FastDivisor column_blocks;
  golden::cuda::FastDivisor pixel_loads;  // loads that bring a pixel's words
  golden::cuda::FastDivisor box_width;    // in pixels
  int units;                              // over the batch
  int blocks;                             // a multiple of the column blocks
  int box_height;
  int pitch;         // pixels of a box row in shared memory
  int words;         // of an input pixel that a block reads
  int quad_words;    // that a quad reads
  int load_words;    // of a load: 4 or 1
  int weight_words;  // of all taps
  int shared_bytes;  // dynamic
};

// The plan, or none.
std::optional<DirectConv> plan_direct(const ConvSizes& conv);

// How many output channels the pieces (conv_finish.cuh) cut into 64s: all, or those of a group.
std::int64_t columns_together(const LevelConv& conv);

}  // namespace qsim::golden::train::cuda
