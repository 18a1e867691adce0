#include "golden/host/window_geometry.h"

#include <algorithm>
#include <string>

#include "core/network/auto_pad.h"

namespace qsim::golden {
namespace {

// Products of two such numbers and a few more fit 64 bits.
constexpr std::int64_t kMostSize = std::int64_t{1} << 30;

void check_sizes(const HostCall& call, const Shape& sizes, std::int64_t least, const char* what) {
  for (const std::int64_t size : sizes) {
    if (size >= least && size <= kMostSize) continue;
    call.malformed(std::string(what) + " " + shape_text(sizes),
                   std::to_string(least) + " to " + std::to_string(kMostSize));
  }
}

// An attribute with `count` numbers, all `fallback` where it is absent.
Shape sizes_of(const HostCall& call, const char* name, std::size_t count, std::int64_t fallback) {
  const Shape sizes = call.integer_list(name).value_or(Shape(count, fallback));
  if (sizes.size() != count) {
    call.malformed(std::string(name) + " " + shape_text(sizes), std::to_string(count) + " numbers");
  }
  check_sizes(call, sizes, fallback, name);
  return sizes;
}

enum class AutoPad : std::uint8_t { kNotSet, kValid, kSameUpper, kSameLower };

AutoPad auto_pad_of(const HostCall& call) {
  const std::string name = call.attribute("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::kNotSet;
  if (name == "VALID") return AutoPad::kValid;
  if (name == "SAME_UPPER") return AutoPad::kSameUpper;
  if (name == "SAME_LOWER") return AutoPad::kSameLower;
  call.malformed("auto_pad '" + name + "'", "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

// All but output and what auto_pad pads.
WindowGeometry read_axes(const HostCall& call, const Shape& spatial, const Shape& kernel,
                         AutoPad auto_pad) {
  const std::size_t rank = spatial.size();
  const auto stated = call.integer_list("kernel_shape");
  if (kernel.size() != rank || (stated && *stated != kernel)) {
    call.malformed("kernel_shape " + shape_text(stated.value_or(kernel)) + ", weights of " +
                       shape_text(kernel) + " and a picture of " + shape_text(spatial),
                   "kernels of one size");
  }
  check_sizes(call, spatial, 0, "a picture of");
  check_sizes(call, kernel, 1, "kernel_shape");
  const Shape strides = sizes_of(call, "strides", rank, 1);
  const Shape dilations = sizes_of(call, "dilations", rank, 1);
  const Shape pads = sizes_of(call, "pads", 2 * rank, 0);
  WindowGeometry geometry{.rank = rank, .axes = {}};
  for (std::size_t d = 0; d < rank; ++d) {
    WindowAxis& axis = geometry.axes[kMostSpatialAxes - rank + d];
    axis.input = spatial[d];
    axis.kernel = kernel[d];
    axis.stride = strides[d];
    axis.dilation = dilations[d];
    if (auto_pad != AutoPad::kNotSet) continue;
    axis.pad_begin = pads[d];
    axis.pad_end = pads[rank + d];
  }
  return geometry;
}

std::int64_t reach(const WindowAxis& axis) { return (axis.kernel - 1) * axis.dilation + 1; }

void pad_both(WindowAxis& axis, std::int64_t total, bool is_upper) {
  axis.pad_begin = same_pad_begin(total, is_upper);
  axis.pad_end = total - axis.pad_begin;
}

void set_output(const HostCall& call, WindowAxis& axis, AutoPad auto_pad, bool ceil_mode) {
  if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
    axis.output = ceil_div(axis.input, axis.stride);
    const std::int64_t total = (axis.output - 1) * axis.stride + reach(axis) - axis.input;
    if (axis.output > 0 && total != -1) pad_both(axis, total, auto_pad == AutoPad::kSameUpper);
    return;
  }
  const std::int64_t room = axis.input + axis.pad_begin + axis.pad_end - reach(axis);
  if (room < 0) {
    call.malformed("a window of " + std::to_string(reach(axis)) + " over " +
                       std::to_string(axis.input) + " positions with " +
                       std::to_string(axis.pad_begin) + " and " + std::to_string(axis.pad_end) +
                       " of padding",
                   "windows that fit");
  }
  const bool rounds_up = ceil_mode && auto_pad == AutoPad::kNotSet;
  axis.output = (rounds_up ? ceil_div(room, axis.stride) : room / axis.stride) + 1;
  // No window begins in the padding at the end.
  if (rounds_up && axis.first(axis.output - 1) >= axis.input) --axis.output;
}

}  // namespace

Shape WindowGeometry::output_shape(std::int64_t batch, std::int64_t channels) const {
  Shape shape = {batch, channels};
  for (std::size_t d = kMostSpatialAxes - rank; d < kMostSpatialAxes; ++d) {
    shape.push_back(axes[d].output);
  }
  return shape;
}

Shape spatial_shape(const HostCall& call, const Shape& picture, bool channels_last) {
  if (picture.size() < 3) {
    call.malformed("a picture of shape " + shape_text(picture), "batch, channels and one more");
  }
  if (picture.size() > 2 + kMostSpatialAxes) {
    call.refuse("a picture of shape " + shape_text(picture), "one to three spatial axes");
  }
  const std::ptrdiff_t first = channels_last ? 1 : 2;
  return {picture.begin() + first, picture.end() - (2 - first)};
}

WindowGeometry window_geometry(const HostCall& call, const Shape& spatial, const Shape& kernel) {
  const AutoPad auto_pad = auto_pad_of(call);
  WindowGeometry geometry = read_axes(call, spatial, kernel, auto_pad);
  const bool ceil_mode = call.attribute("ceil_mode", std::int64_t{0}) != 0;
  for (std::size_t d = kMostSpatialAxes - geometry.rank; d < kMostSpatialAxes; ++d) {
    set_output(call, geometry.axes[d], auto_pad, ceil_mode);
  }
  return geometry;
}

WindowGeometry pool_geometry(const HostCall& call, const Shape& spatial) {
  const auto kernel = call.integer_list("kernel_shape");
  if (!kernel) call.malformed("no kernel_shape", "the size of the windows");
  const WindowGeometry geometry = window_geometry(call, spatial, *kernel);
  const AutoPad auto_pad = auto_pad_of(call);
  const bool is_same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  for (const WindowAxis& axis : geometry.axes) {
    // ONNX's formula gives negative pads where windows leave out positions, and ONNX Runtime pads
    // less than it beside dilations.
    const std::int64_t left_out = axis.input - (axis.output - 1) * axis.stride - reach(axis);
    const bool leaves_out = axis.pad_begin + axis.pad_end <= 0 && left_out > 1;
    if (is_same && (leaves_out || axis.dilation != 1)) {
      call.refuse("auto_pad SAME with a dilation of " + std::to_string(axis.dilation) + " and " +
                      std::to_string(leaves_out ? left_out : 0) + " positions that no window reads",
                  "no dilation and at most one such position");
    }
    if (std::max(axis.pad_begin, axis.pad_end) < reach(axis)) continue;
    call.malformed("padding of " + std::to_string(axis.pad_begin) + " and " +
                       std::to_string(axis.pad_end) + " by a window of " +
                       std::to_string(reach(axis)),
                   "less padding than the window has positions");
  }
  return geometry;
}

WindowGeometry transposed_geometry(const HostCall& call, const Shape& spatial,
                                   const Shape& kernel) {
  const AutoPad auto_pad = auto_pad_of(call);
  WindowGeometry geometry = read_axes(call, spatial, kernel, auto_pad);
  const std::size_t rank = geometry.rank;
  const Shape output_padding = sizes_of(call, "output_padding", rank, 0);
  auto wanted = call.integer_list("output_shape");
  if (wanted && wanted->size() == rank + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != rank) {
    call.malformed("output_shape " + shape_text(*wanted), std::to_string(rank) + " numbers");
  }
  if (wanted) check_sizes(call, *wanted, 1, "output_shape");
  const bool is_same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  for (std::size_t d = 0; d < rank; ++d) {
    WindowAxis& axis = geometry.axes[kMostSpatialAxes - rank + d];
    axis.output = axis.input;
    const std::int64_t padded = (axis.output - 1) * axis.stride + reach(axis) + output_padding[d];
    if (wanted || is_same) {
      axis.input = wanted ? (*wanted)[d] : axis.output * axis.stride;
      if (!wanted && padded < axis.input) {
        call.refuse("auto_pad SAME of windows of " + std::to_string(reach(axis)) +
                        " with a stride of " + std::to_string(axis.stride),
                    "windows as large as the stride");
      }
      const std::int64_t total = std::max<std::int64_t>(0, padded - axis.input);
      pad_both(axis, total, auto_pad == AutoPad::kSameUpper);
    } else {
      axis.input = padded - axis.pad_begin - axis.pad_end;
    }
    if (axis.input < 0 || (axis.output == 0 && axis.input > 0)) {
      call.malformed("an axis of " + std::to_string(axis.output) +
                         " positions that becomes one of " + std::to_string(axis.input),
                     "sizes above 0");
    }
  }
  return geometry;
}

float window_count(const WindowGeometry& window, const WindowPart& part, bool padded) {
  float count = 1.0F;
  for (std::size_t d = 0; d < kMostSpatialAxes; ++d) {
    const WindowAxis& axis = window.axes[d];
    const std::int64_t positions =
        padded ? axis.end(part.first[d], axis.input + axis.pad_end) : part.end[d] - part.begin[d];
    count *= static_cast<float>(positions);
  }
  return count;
}

}  // namespace qsim::golden
