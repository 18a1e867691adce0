// A convolution as the kernels of its gradients take it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/error.h"
#include "golden/device/fast_divisor.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

struct ConvGeometry {
  int batch, height, width, channels;       // of x
  int out_height, out_width, out_channels;  // of y
  int group_in, group_out, groups;          // channels of a group
  int kernel_h, kernel_w, stride_h, stride_w;
  int pad_top, pad_left, dilation_h, dilation_w;
};

inline ConvGeometry geometry_of(const LevelConv& conv) {
  const auto count = [](std::int64_t n) {
    QSIM_CHECK(n >= 0 && n <= INT32_MAX, "an axis of fewer than 2^31 places");
    return static_cast<int>(n);
  };
  const Window& w = conv.window;
  count(conv.pixels());
  count(conv.x_shape.batch * conv.x_shape.height * conv.x_shape.width);
  return {count(conv.x_shape.batch),
          count(conv.x_shape.height),
          count(conv.x_shape.width),
          count(conv.x_shape.channels),
          count(conv.y_shape.height),
          count(conv.y_shape.width),
          count(conv.y_shape.channels),
          count(conv.in_channels()),
          count(conv.out_channels()),
          count(conv.groups),
          count(w.kernel_h),
          count(w.kernel_w),
          count(w.stride_h),
          count(w.stride_w),
          count(w.pad_top),
          count(w.pad_left),
          count(w.dilation_h),
          count(w.dilation_w)};
}

// Whether the bytes at `data` can be read in vectors of 16.
inline bool is_aligned_16(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// The most that `bytes` says of the call with its tensors at any address: vectors need aligned
// ones, and a caller may keep the answer for tensors of these shapes.
template <typename Call, typename Bytes>
std::size_t for_any_address(Call call, const Bytes& bytes) {
  const auto at = [](bool aligned) { return std::uintptr_t{aligned ? 16U : 3U}; };
  std::size_t most = 0;
  for (const bool g : {false, true}) {
    for (const bool levels : {false, true}) {
      call.g = reinterpret_cast<const std::uint16_t*>(at(g));
      call.conv.q = reinterpret_cast<const std::int8_t*>(at(levels));
      call.conv.w = call.conv.q;
      most = std::max(most, bytes(call));
    }
  }
  return most;
}

}  // namespace qsim::golden::train::cuda
