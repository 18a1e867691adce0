#include "formats/onnx/importer/axes.h"

#include "core/base/checked_math.h"

namespace qsim::formats {

std::string axes_name(Axes axes) {
  switch (axes) {
    case Axes::kNchw:
      return "[N, C, H, W]";
    case Axes::kNhwc:
      return "[N, H, W, C]";
    case Axes::kNk:
      return "[N, K]";
  }
  return "?";
}

std::int64_t rank_of(Axes axes) { return axes == Axes::kNk ? 2 : 4; }

std::int64_t channel_axis(Axes axes) { return axes == Axes::kNhwc ? 3 : 1; }

Shape onnx_shape(const ImageShape& shape, Axes axes) {
  switch (axes) {
    case Axes::kNchw:
      return {shape.batch, shape.channels, shape.height, shape.width};
    case Axes::kNhwc:
      return shape.nhwc();
    case Axes::kNk:
      return {shape.batch, shape.channels};
  }
  return {};
}

std::string shape_with_axes(const ImageShape& shape, Axes axes) {
  return axes_name(axes) + " = " + shape_text(onnx_shape(shape, axes));
}

ImageShape padded(const ImageShape& shape, const Pads& pads) {
  return {shape.batch, checked_add(shape.height, checked_add(pads.top, pads.bottom)),
          checked_add(shape.width, checked_add(pads.left, pads.right)), shape.channels};
}

bool is_one_pixel(const ImageShape& shape) { return shape.height == 1 && shape.width == 1; }

std::int64_t elems_of_picture(const ImageShape& shape) {
  return checked_mul(checked_mul(shape.height, shape.width), shape.channels);
}

}  // namespace qsim::formats
