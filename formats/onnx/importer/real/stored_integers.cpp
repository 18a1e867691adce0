#include "formats/onnx/importer/real/stored_integers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/printable.h"
#include "formats/onnx/importer/real/real_constants.h"

namespace qsim::formats {
namespace {

std::int32_t number_at(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype) {
    case DType::kInt8:
      return tensor.as<std::int8_t>()[i];
    case DType::kUint8:
      return tensor.as<std::uint8_t>()[i];
    case DType::kInt16:
      return tensor.as<std::int16_t>()[i];
    case DType::kInt32:
      return tensor.as<std::int32_t>()[i];
    default:
      break;
  }
  return 0;
}

Tensor as_int16(const NodeReader& node, const Tensor& levels) {
  Tensor result(DType::kInt16, levels.shape);
  const auto to = result.as<std::int16_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int32_t level = number_at(levels, i);
    if (std::abs(static_cast<std::int64_t>(level)) > std::numeric_limits<std::int16_t>::max()) {
      node.refuse("weight " + std::to_string(i) + " is the integer " + std::to_string(level),
                  "integers of 16 bits");
    }
    to[i] = static_cast<std::int16_t>(level);
  }
  return result;
}

std::vector<std::int32_t> read_zero_points(const NodeReader& node, const Tensor& levels,
                                           const std::optional<Tensor>& zero_points,
                                           std::size_t count) {
  std::vector<std::int32_t> result(count, 0);
  if (!zero_points) return result;
  const bool fits = zero_points->dtype == levels.dtype &&
                    (zero_points->elems() == 1 || zero_points->elems() == std::ssize(result));
  if (!fits) {
    node.malformed("zero_point is " + std::string(dtype_name(zero_points->dtype)) + " " +
                       shape_text(zero_points->shape),
                   std::string(dtype_name(levels.dtype)) + ", one for each of " +
                       std::to_string(count) + " scales");
  }
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = number_at(*zero_points, zero_points->elems() == 1 ? 0 : i);
  }
  return result;
}

void require_axis(const NodeReader& node, const StoredIntegers& integers, std::int64_t axis) {
  const std::int64_t channels = integers.levels.shape[static_cast<std::size_t>(axis)];
  const std::int64_t scales = std::ssize(integers.scales);
  if (scales == 1 || (integers.axis == axis && scales == channels)) return;
  node.refuse("weights with " + std::to_string(scales) + " scales along axis " +
                  std::to_string(integers.axis),
              "one scale, or one for each output channel");
}

// [M][C][kh][kw] to [M][kh][kw][C].
Tensor levels_channels_last(const Tensor& levels) {
  const Shape& shape = levels.shape;
  Tensor result(DType::kInt16, {shape[0], shape[2], shape[3], shape[1]});
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto taps = static_cast<std::size_t>(shape[2] * shape[3]);
  const auto from = levels.as<std::int16_t>();
  const auto to = result.as<std::int16_t>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t tap = i % taps;
    const std::size_t channel = i / taps % channels;
    to[(i / (taps * channels) * taps + tap) * channels + channel] = from[i];
  }
  return result;
}

RealLayerWeights layer_weights(const StoredIntegers& integers, const Tensor& levels) {
  RealLayerWeights result = layer_weights_of(levels, integers.scales, integers.zero_points);
  result.input = integers.input;
  return result;
}

}  // namespace

StoredIntegers stored_integers(const NodeReader& node, const Tensor& levels, const Tensor& scales,
                               const std::optional<Tensor>& zero_points, std::int64_t axis) {
  if (levels.dtype == DType::kInt16 || levels.dtype == DType::kFloat32) {
    node.refuse("weights are " + std::string(dtype_name(levels.dtype)), "int8, uint8 or int32");
  }
  const auto numbers = scales.as<float>();
  for (const float scale : numbers) {
    if (std::isfinite(scale) && scale > 0) continue;
    node.malformed("a scale of weights is " + std::to_string(scale), "finite numbers above 0");
  }
  const std::int64_t rank = std::ssize(levels.shape);
  const std::int64_t along = axis < 0 ? axis + rank : axis;
  const bool is_one = numbers.size() == 1;
  if (!is_one && (along < 0 || along >= rank ||
                  levels.shape[static_cast<std::size_t>(along)] != std::ssize(numbers))) {
    node.malformed(std::to_string(numbers.size()) + " scales along axis " + std::to_string(axis) +
                       " of " + shape_text(levels.shape),
                   "one scale, or one for each index of the axis");
  }
  return {as_int16(node, levels),
          {numbers.begin(), numbers.end()},
          read_zero_points(node, levels, zero_points, numbers.size()),
          is_one ? 0 : along};
}

Tensor real_numbers(const StoredIntegers& integers) {
  Tensor result(DType::kFloat32, integers.levels.shape);
  const auto levels = integers.levels.as<std::int16_t>();
  const auto to = result.as<float>();
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(integers.axis) + 1;
       i < integers.levels.shape.size(); ++i) {
    inner *= static_cast<std::size_t>(integers.levels.shape[i]);
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t own = i / inner % integers.scales.size();
    to[i] = static_cast<float>(levels[i] - integers.zero_points[own]) * integers.scales[own];
  }
  return result;
}

RealLayerWeights convolution_weights(const NodeReader& node, const StoredIntegers& integers) {
  require_axis(node, integers, 0);
  return layer_weights(integers, levels_channels_last(integers.levels));
}

RealLayerWeights matrix_weights(const NodeReader& node, const StoredIntegers& integers,
                                bool outputs_first) {
  require_axis(node, integers, outputs_first ? 0 : 1);
  if (outputs_first) return layer_weights(integers, integers.levels);
  Tensor levels = integers.levels;
  levels.shape = {1, levels.shape[0], levels.shape[1], 1};
  levels = levels_channels_last(levels);
  levels.shape = {integers.levels.shape[1], integers.levels.shape[0]};
  return layer_weights(integers, levels);
}

}  // namespace qsim::formats
