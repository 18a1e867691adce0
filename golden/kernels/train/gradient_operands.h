// What both gradients of a convolution share: g as floats, and which output pixels a tap of the
// kernel reaches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "golden/common/float_formats.h"
#include "golden/kernels/train/parts.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

inline std::vector<float> floats_of(const std::uint16_t* bfloat16, std::int64_t count,
                                    ThreadTeam& team) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for_ranges(team, count, 4096, [&](std::int64_t begin, std::int64_t end) {
    std::transform(bfloat16 + begin, bfloat16 + end, result.begin() + begin, float_from_bfloat16);
  });
  return result;
}

// Along one axis, output position o of a tap lies at input position o * stride + shift; it is
// inside for o in begin..end - 1.
struct TapReach {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t shift;
};

inline TapReach tap_reach(std::int64_t outputs, std::int64_t inputs, std::int64_t stride,
                          std::int64_t shift) {
  const std::int64_t begin = shift < 0 ? ceil_div(-shift, stride) : 0;
  const std::int64_t end = shift >= inputs ? 0 : (inputs - 1 - shift) / stride + 1;
  return {begin, std::max(begin, std::min(outputs, end)), shift};
}

inline TapReach rows_of_tap(const LevelConv& conv, std::int64_t tap) {
  const Window& w = conv.window;
  return tap_reach(conv.y_shape.height, conv.x_shape.height, w.stride_h,
                   tap / w.kernel_w * w.dilation_h - w.pad_top);
}

inline TapReach columns_of_tap(const LevelConv& conv, std::int64_t tap) {
  const Window& w = conv.window;
  return tap_reach(conv.y_shape.width, conv.x_shape.width, w.stride_w,
                   tap % w.kernel_w * w.dilation_w - w.pad_left);
}

}  // namespace qsim::golden::train
