#include "formats/onnx/importer/real/real_constants.h"

#include <cmath>

#include "core/base/printable.h"

namespace qsim::formats {

Tensor real_constant(const NodeReader& node, int index, const std::string& name) {
  Tensor constant = node.constant(index, name);
  if (constant.dtype != DType::kFloat32) {
    node.refuse(name + " is " + std::string(dtype_name(constant.dtype)), "float32");
  }
  const std::span<const float> values = constant.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    node.malformed(name + " '" + echoed(node.input(index)) + "' has " + std::to_string(values[i]) +
                       " at index " + std::to_string(i),
                   "finite numbers");
  }
  return constant;
}

std::vector<double> channel_constant(const NodeReader& node, int index, const std::string& name,
                                     std::int64_t channels) {
  const Tensor constant = real_constant(node, index, name);
  if (constant.shape != Shape{channels}) {
    node.malformed(name + " has shape " + shape_text(constant.shape), shape_text({channels}));
  }
  const std::span<const float> values = constant.as<float>();
  return {values.begin(), values.end()};
}

std::vector<double> repeated_constant(const NodeReader& node, int index, const std::string& name,
                                      std::int64_t rank, std::int64_t channel_axis,
                                      std::int64_t channels) {
  const Tensor constant = real_constant(node, index, name);
  const std::int64_t own_rank = std::ssize(constant.shape);
  bool fits = own_rank <= rank;
  for (std::int64_t axis = 0; axis < own_rank; ++axis) {
    const std::int64_t dim = constant.shape[static_cast<std::size_t>(axis)];
    fits &= dim == 1 || (axis + rank - own_rank == channel_axis && dim == channels);
  }
  if (!fits) {
    node.refuse(name + " has shape " + shape_text(constant.shape),
                "one number, or one for each of " + std::to_string(channels) + " channels");
  }
  const std::span<const float> values = constant.as<float>();
  if (std::ssize(values) == channels) return {values.begin(), values.end()};
  return std::vector<double>(static_cast<std::size_t>(channels), static_cast<double>(values[0]));
}

Tensor channels_last(const Tensor& weights) {
  const Shape& shape = weights.shape;
  Tensor result(DType::kFloat32, {shape[0], shape[2], shape[3], shape[1]});
  const auto out_channels = static_cast<std::size_t>(shape[0]);
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto taps = static_cast<std::size_t>(shape[2] * shape[3]);
  const std::span<const float> from = weights.as<float>();
  const std::span<float> to = result.as<float>();
  for (std::size_t co = 0; co < out_channels; ++co) {
    const std::size_t start = co * channels * taps;
    for (std::size_t tap = 0; tap < taps; ++tap) {
      for (std::size_t ci = 0; ci < channels; ++ci) {
        to[start + tap * channels + ci] = from[start + ci * taps + tap];
      }
    }
  }
  return result;
}

Tensor turned(const Tensor& matrix) {
  Tensor as_convolution = matrix;
  as_convolution.shape = {1, matrix.shape[0], matrix.shape[1], 1};
  Tensor result = channels_last(as_convolution);
  result.shape = {matrix.shape[1], matrix.shape[0]};
  return result;
}

}  // namespace qsim::formats
