#include "formats/onnx/importer/prelu_slopes.h"

#include <algorithm>
#include <cmath>

#include "core/network/float_rules.h"
#include "formats/onnx/importer/quantization.h"

namespace qsim::formats {
namespace {

// Equal numbers may repeat along any axis.
void check_shape(const NodeReader& node, const Shape& shape, bool are_equal, Axes axes,
                 std::int64_t channels) {
  const std::int64_t rank = rank_of(axes);
  const std::int64_t own_rank = std::ssize(shape);
  bool fits = own_rank <= rank;
  if (fits && are_equal) return;
  for (std::int64_t i = 0; i < own_rank; ++i) {
    const std::int64_t dim = shape[static_cast<std::size_t>(i)];
    fits &= dim == 1 || (i + rank - own_rank == channel_axis(axes) && dim == channels);
  }
  if (fits) return;
  Shape by_channel(static_cast<std::size_t>(rank - channel_axis(axes)), 1);
  by_channel[0] = channels;
  node.refuse("slope has shape " + shape_text(shape),
              "one number, or one for each of " + std::to_string(channels) + " channels, as " +
                  shape_text(by_channel));
}

}  // namespace

Tensor prelu_slopes(const NodeReader& node, const Tensor& slope, Axes axes, std::int64_t channels) {
  if (slope.dtype != DType::kFloat32) {
    node.refuse("slope is " + std::string(dtype_name(slope.dtype)), "float32");
  }
  const std::span<const float> numbers = slope.as<float>();
  const bool are_equal =
      !numbers.empty() && std::ranges::all_of(numbers, [&](float n) { return n == numbers[0]; });
  check_shape(node, slope.shape, are_equal, axes, channels);
  for (const float number : numbers) {
    if (std::isfinite(number)) continue;
    node.malformed("slope has " + std::to_string(number), "finite numbers");
  }
  Tensor slopes(DType::kFloat32, {are_equal ? 1 : channels});
  std::copy_n(numbers.begin(), slopes.elems(), slopes.as<float>().begin());
  return slopes;
}

Tensor dequantized_constant(const NodeReader& dequantize) {
  dequantize.require_inputs(2, 3);
  const Tensor levels = dequantize.constant(0, "x");
  if (levels.dtype != DType::kInt8 && levels.dtype != DType::kUint8) {
    dequantize.refuse("x is " + std::string(dtype_name(levels.dtype)), "int8, uint8");
  }
  const ChannelQuantization own =
      read_channel_quantization(dequantize, 1, "x", levels.elems(), levels.dtype);
  const std::int64_t given = NodeAttributes(dequantize, {"axis", "block_size"}).integer("axis", 1);
  const std::int64_t axis = given < 0 ? given + std::ssize(levels.shape) : given;
  // Scales go along the axis that has all the numbers, so that element i has scale i.
  const bool is_by_element = std::max(own.scales.size(), own.zero_points.size()) > 1;
  const bool has_axis = axis >= 0 && axis < std::ssize(levels.shape) &&
                        levels.shape[static_cast<std::size_t>(axis)] == levels.elems();
  if (is_by_element && !has_axis) {
    dequantize.refuse("axis = " + std::to_string(given) + " of " + shape_text(levels.shape),
                      "the axis that has all its numbers");
  }
  Tensor reals(DType::kFloat32, levels.shape);
  for (std::size_t i = 0; i < reals.as<float>().size(); ++i) {
    const std::int32_t level =
        level_of_byte(std::to_integer<std::size_t>(levels.bytes[i]), levels.dtype);
    const std::int32_t zero_point = own.zero_points[own.zero_points.size() == 1 ? 0 : i];
    const float scale = own.scales[own.scales.size() == 1 ? 0 : i];
    reals.as<float>()[i] = static_cast<float>(level - zero_point) * scale;
  }
  return reals;
}

}  // namespace qsim::formats
