// Gathers what output pixels read for one chunk of products into rows of pitch kRowPitch.
#pragma once

#include "core/network/graph.h"

namespace qsim::golden {

// Some channels of pictures: those of a group of a convolution, or all.
struct GroupView {
  const float* data;  // [N][H][W][C]
  ImageShape shape;
  std::int64_t first_channel;
  std::int64_t channels;
};

// rows[r][i] becomes product begin + i (of the order ky, kx, ci) of output pixel first_pixel + r
// (counted over [N][out H][out W]), for r < count and begin + i < end; +0 outside the picture.
void gather_chunk(const GroupView& view, const Window& window, const ImageShape& output,
                  std::int64_t first_pixel, std::int64_t count, std::int64_t begin,
                  std::int64_t end, float* rows);

}  // namespace qsim::golden
