// The order of an ONNX tensor's axes, and pads around its pictures. A graph itself is NHWC
// throughout.
#pragma once

#include <cstdint>
#include <string>

#include "core/network/graph.h"

namespace qsim::formats {

enum class Axes : std::uint8_t { kNchw, kNhwc, kNk };

// Positions of the number 0 (of levels: the zero_point) around a picture.
struct Pads {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t bottom = 0;
  std::int64_t right = 0;

  bool operator==(const Pads&) const = default;
};

// "[N, C, H, W]"
std::string axes_name(Axes axes);
// How many axes there are, and which of them is the channels'.
std::int64_t rank_of(Axes axes);
std::int64_t channel_axis(Axes axes);
// The sizes of `shape` in the order of an ONNX tensor's axes.
Shape onnx_shape(const ImageShape& shape, Axes axes);
// "[N, C, H, W] = [1, 3, 32, 32]"
std::string shape_with_axes(const ImageShape& shape, Axes axes);
// `shape` with `pads` around it.
ImageShape padded(const ImageShape& shape, const Pads& pads);
bool is_one_pixel(const ImageShape& shape);
// Elements of one picture.
std::int64_t elems_of_picture(const ImageShape& shape);

}  // namespace qsim::formats
