// A 1x1 convolution as one on groups of neighbouring pixels: their channels side by side are the
// channels of one pixel, and the weights a block for each of them. So narrow pixels fill a tile and
// the copy engine's 16 bytes. No device code.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {

// Owns what its task points to.
struct GroupedPixels {
  ConvTask task;  // of the same bytes
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias;
};

// Nothing where no group helps: windows above 1x1, strides, pools, pixels that are wide enough, or
// a number of pixels that no group divides.
std::unique_ptr<GroupedPixels> group_pixels(const ConvTask& task);

}  // namespace qsim::golden::cuda
