// A LevelConv with its sizes as the kernels count with them.
#pragma once

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

struct ConvSizes {
  const std::int8_t* q;
  const std::int32_t* zero_point;  // or null
  const std::int8_t* w;
  int height, width, all_channels;         // of q
  int out_height, out_width, all_columns;  // of acc
  int channels, columns;                   // of a group
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
  int groups;
  int pixels;  // of acc, over the batch
};

// Throws Error where a size does not fit.
ConvSizes conv_sizes(const LevelConv& conv);

}  // namespace qsim::golden::train::cuda
