// The windows that convolutions and pools move over one to three spatial axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "golden/host/host_call.h"

namespace qsim::golden {

inline constexpr std::size_t kMostSpatialAxes = 3;

// One axis: the window of output o reads inputs o * stride - pad_begin + k * dilation, 0 <= k <
// kernel, those of them that exist. No product or sum of these numbers overflows.
struct WindowAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;

  std::int64_t first(std::int64_t output_at) const { return output_at * stride - pad_begin; }
  // The k of a window from `first` on that read inputs within [lo, hi): from the first on, and the
  // one past the last.
  std::int64_t begin(std::int64_t first, std::int64_t lo = 0) const {
    return first >= lo ? 0 : std::min(kernel, ceil_div(lo - first, dilation));
  }
  std::int64_t end(std::int64_t first, std::int64_t hi) const {
    return first >= hi ? 0 : std::min(kernel, ceil_div(hi - first, dilation));
  }
};

// Axes beyond the tensor's own come first and have one position.
struct WindowGeometry {
  std::size_t rank = 0;  // the tensor's spatial axes
  std::array<WindowAxis, kMostSpatialAxes> axes;

  std::int64_t inputs() const { return axes[0].input * axes[1].input * axes[2].input; }
  std::int64_t outputs() const { return axes[0].output * axes[1].output * axes[2].output; }
  std::int64_t kernels() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  // Batch and channels, then the output's spatial axes.
  Shape output_shape(std::int64_t batch, std::int64_t channels) const;
};

// The sizes of a picture [N, C, ...], or [N, ..., C], with one to three axes between. refuse() and
// malformed() for others.
Shape spatial_shape(const HostCall& call, const Shape& picture, bool channels_last = false);

// Windows of a convolution or pool by its attributes strides, pads, dilations, auto_pad and
// ceil_mode. `kernel` has the size of each spatial axis; attribute kernel_shape must agree.
WindowGeometry window_geometry(const HostCall& call, const Shape& spatial, const Shape& kernel);
// A pool's, whose kernel is the attribute kernel_shape alone.
WindowGeometry pool_geometry(const HostCall& call, const Shape& spatial);
// A ConvTranspose's, as those of the convolution that it turns round: `input` of each axis is a
// size of its output, `output` a size of its input.
WindowGeometry transposed_geometry(const HostCall& call, const Shape& spatial, const Shape& kernel);

// The kernel positions of one window that read inputs, from `begin` to before `end`.
struct WindowPart {
  std::array<std::int64_t, kMostSpatialAxes> first{};
  std::array<std::int64_t, kMostSpatialAxes> begin{};
  std::array<std::int64_t, kMostSpatialAxes> end{};
};

// Calls body(output position, WindowPart) for each window.
template <typename Body>
void for_each_window(const WindowGeometry& window, Body body) {
  std::array<std::int64_t, kMostSpatialAxes> at{};
  const std::int64_t outputs = window.outputs();
  for (std::int64_t o = 0; o < outputs; ++o) {
    WindowPart part;
    for (std::size_t d = 0; d < kMostSpatialAxes; ++d) {
      const WindowAxis& axis = window.axes[d];
      part.first[d] = axis.first(at[d]);
      part.begin[d] = axis.begin(part.first[d]);
      part.end[d] = axis.end(part.first[d], axis.input);
    }
    body(o, part);
    for (std::size_t d = kMostSpatialAxes; d-- > 0;) {
      if (++at[d] < window.axes[d].output) break;
      at[d] = 0;
    }
  }
}

// Calls body(index in the channel) for each input of a window, row by row.
template <typename Body>
void for_each_input(const WindowGeometry& window, const WindowPart& part, Body body) {
  const auto& [z, y, x] = window.axes;
  for (std::int64_t kz = part.begin[0]; kz < part.end[0]; ++kz) {
    const std::int64_t plane = (part.first[0] + kz * z.dilation) * y.input;
    for (std::int64_t ky = part.begin[1]; ky < part.end[1]; ++ky) {
      const std::int64_t row = (plane + part.first[1] + ky * y.dilation) * x.input;
      for (std::int64_t kx = part.begin[2]; kx < part.end[2]; ++kx) {
        body(row + part.first[2] + kx * x.dilation);
      }
    }
  }
}

// The inputs of a window, or with `padded` those of its positions that are within the padding too,
// as a number to divide by.
float window_count(const WindowGeometry& window, const WindowPart& part, bool padded);

}  // namespace qsim::golden
