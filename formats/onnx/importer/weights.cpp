#include "formats/onnx/importer/weights.h"

#include <algorithm>
#include <cmath>

#include "core/network/layer_arithmetic.h"

namespace qsim::formats {
namespace {

void require_8_bit(const NodeReader& node, const std::string& name, DType dtype) {
  if (dtype == DType::kInt8 || dtype == DType::kUint8) return;
  node.refuse(name + " is " + std::string(dtype_name(dtype)), "int8, uint8");
}

std::int64_t channels_of(const NodeReader& node, const std::string& name, const Shape& shape,
                         std::size_t channel_axis) {
  if (channel_axis >= shape.size()) {
    node.refuse(name + " has shape " + shape_text(shape), "two or four dimensions");
  }
  if (element_count(shape) == 0) {
    node.malformed(name + " has shape " + shape_text(shape), "at least one element");
  }
  return shape[channel_axis];
}

// [C][tap] of one output channel to [tap][C].
void turn_channel(const std::int8_t* from, std::int64_t in_channels, std::int64_t taps,
                  std::int8_t* to) {
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t c = 0; c < in_channels; ++c) *to++ = from[c * taps + tap];
  }
}

// Turns `count` rows of `columns` bytes: row k becomes byte k of the rows of `to`, which are
// `pitch` bytes apart. In squares, which stay in the cache.
void turn(const std::int8_t* from, std::int64_t count, std::int64_t columns, std::int8_t* to,
          std::int64_t pitch) {
  constexpr std::int64_t kSquare = 64;
  for (std::int64_t k0 = 0; k0 < count; k0 += kSquare) {
    const std::int64_t k1 = std::min(k0 + kSquare, count);
    for (std::int64_t n0 = 0; n0 < columns; n0 += kSquare) {
      for (std::int64_t n = n0; n < std::min(n0 + kSquare, columns); ++n) {
        for (std::int64_t k = k0; k < k1; ++k) to[n * pitch + k] = from[k * columns + n];
      }
    }
  }
}

// [in][out] to [out][in].
Tensor outputs_first_bytes(const StoredTensor& weights) {
  const std::int64_t in_channels = weights.shape[0];
  const std::int64_t out_channels = weights.shape[1];
  Tensor result(DType::kInt8, {out_channels, in_channels});
  std::int8_t* to = result.as<std::int8_t>().data();
  for_each_stripe(weights, [&](std::int64_t first, std::span<const std::int8_t> rows) {
    turn(rows.data(), std::ssize(rows) / out_channels, out_channels, to + first, in_channels);
  });
  return result;
}

// `bytes` are weights of `dtype` as the file has them, output channels first.
Tensor less_zero_points(Tensor bytes, DType dtype, const std::vector<std::int32_t>& zero_points) {
  const bool are_zero =
      std::all_of(zero_points.begin(), zero_points.end(), [](auto zero) { return zero == 0; });
  bytes.dtype = DType::kInt8;
  if (dtype == DType::kInt8 && are_zero) return bytes;
  const auto numbers = bytes.as<std::int8_t>();
  const std::size_t each = numbers.size() / static_cast<std::size_t>(bytes.shape[0]);
  const auto centred = [&](std::size_t i) {
    const std::int32_t level = level_of_byte(static_cast<std::uint8_t>(numbers[i]), dtype);
    return level - (zero_points.size() == 1 ? zero_points[0] : zero_points[i / each]);
  };
  bool fits = true;
  for (std::size_t i = 0; fits && i < numbers.size(); ++i) {
    fits = centred(i) >= -128 && centred(i) <= 127;
  }
  if (fits) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int8_t>(centred(i));
    }
    return bytes;
  }
  Tensor wide(DType::kInt16, bytes.shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    wide.as<std::int16_t>()[i] = static_cast<std::int16_t>(centred(i));
  }
  return wide;
}

// Whether two float32 numbers are the same but for a few roundings.
bool are_near(float a, float b) {
  return std::abs(a - b) <= 0x1p-20F * std::max(std::abs(a), std::abs(b));
}

std::size_t of_channel(std::size_t channel, std::size_t count) { return count == 1 ? 0 : channel; }

Tensor bias_of_shape(const NodeReader& node, std::string_view name, Tensor bias,
                     std::int64_t channels, bool row) {
  if (row && bias.shape == Shape{1, channels}) bias.shape = {channels};
  if (bias.shape != Shape{channels}) {
    node.refuse(std::string(name) + " has shape " + shape_text(bias.shape),
                shape_text({channels}) + (row ? ", " + shape_text({1, channels}) : ""));
  }
  return bias;
}

Tensor read_levels_of_bias(const NodeReader& node, const std::string& name, std::int64_t channels,
                           bool row) {
  Tensor bias = node.constant(0, name);
  if (bias.dtype != DType::kInt32 && bias.dtype != DType::kInt8 && bias.dtype != DType::kUint8) {
    node.refuse(name + " is " + std::string(dtype_name(bias.dtype)), "int32, int8, uint8");
  }
  return bias_of_shape(node, name, std::move(bias), channels, row);
}

// A real number as a level of the scale x_scale * w_scale.
std::int32_t bias_at(const NodeReader& node, std::size_t c, float real, double product) {
  const auto level = bias_level(real, product);
  if (!level) {
    node.refuse("bias[" + std::to_string(c) + "] = " + float_text(real),
                "numbers that x_scale * w_scale makes int32");
  }
  return *level;
}

// Integers of the scale x_scale * w_scale stay as they are; those of another scale or type become
// the real numbers that they mean.
Tensor dequantized_bias(const NodeReader& node, const ModelNode& constant, std::int64_t channels,
                        const std::vector<double>& products, bool row) {
  const NodeReader reader(node.model(), constant);
  reader.require_inputs(2, 3);
  const std::string name = "bias x";  // as errors call it
  const Tensor levels = read_levels_of_bias(reader, name, channels, row);
  const ChannelQuantization given =
      read_channel_quantization(reader, 1, name, channels, levels.dtype);
  Tensor bias(DType::kInt32, {channels});
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const float scale = given.scales[of_channel(c, given.scales.size())];
    const std::int32_t zero_point = given.zero_points[of_channel(c, given.zero_points.size())];
    const double product = products[of_channel(c, products.size())];
    const std::int32_t level = level_at(levels, c);
    const bool is_own = levels.dtype == DType::kInt32 && zero_point == 0 &&
                        are_near(scale, static_cast<float>(product));
    const float real = static_cast<float>(std::int64_t{level} - zero_point) * scale;
    bias.as<std::int32_t>()[c] = is_own ? level : bias_at(node, c, real, product);
  }
  return bias;
}

}  // namespace

StoredWeights read_qlinear_weights(const NodeReader& node, int index, const std::string& name,
                                   const std::string& scale_name, std::size_t channel_axis) {
  StoredWeights weights{name, node.stored_constant(index, name), {}};
  require_8_bit(node, name, weights.numbers.dtype);
  const std::int64_t channels = channels_of(node, name, weights.shape(), channel_axis);
  weights.quantization =
      read_channel_quantization(node, index + 1, scale_name, channels, weights.numbers.dtype);
  return weights;
}

StoredWeights read_dequantized_weights(const NodeReader& node, int index,
                                       const ImportedTensor* tensor, const std::string& name,
                                       std::size_t channel_axis) {
  if (tensor == nullptr || tensor->kind != ImportedTensor::Kind::kConstant) {
    if (!node.has_input(index)) node.malformed(name + " is absent", "a constant");
    node.refuse(name + (tensor == nullptr ? " is not quantized" : " is computed"),
                "a constant of int8 or uint8 after a DequantizeLinear");
  }
  const NodeReader reader(node.model(), tensor->node);
  reader.require_inputs(2, 3);
  const std::string own = "weights x";  // as errors call it
  StoredWeights weights{name, reader.stored_constant(0, own), {}, tensor->transposed};
  const std::int64_t rank = std::ssize(weights.shape());
  const std::size_t axis = tensor->transposed ? 1 - channel_axis : channel_axis;
  require_8_bit(reader, own, weights.numbers.dtype);
  const std::int64_t channels = channels_of(reader, own, weights.shape(), axis);
  weights.quantization = read_channel_quantization(reader, 1, own, channels, weights.numbers.dtype);
  const std::int64_t given = NodeAttributes(reader, {"axis", "block_size"}).integer("axis", 1);
  const bool by_channel =
      std::max(weights.quantization.scales.size(), weights.quantization.zero_points.size()) > 1;
  if (by_channel && (given < 0 ? given + rank : given) != static_cast<std::int64_t>(axis)) {
    reader.refuse("axis = " + std::to_string(given) + " of weights",
                  "their output channels, " + std::to_string(axis));
  }
  return weights;
}

Tensor conv_weights(const StoredWeights& weights) {
  const Shape& shape = weights.shape();
  const std::int64_t taps = shape[2] * shape[3];
  const std::int64_t each = shape[1] * taps;
  Tensor result(DType::kInt8, {shape[0], shape[2], shape[3], shape[1]});
  std::int8_t* to = result.as<std::int8_t>().data();
  for_each_stripe(weights.numbers, [&](std::int64_t first, std::span<const std::int8_t> rows) {
    for (std::int64_t at = 0; at < std::ssize(rows); at += each) {
      turn_channel(rows.data() + at, shape[1], taps, to + first * each + at);
    }
  });
  return less_zero_points(std::move(result), weights.numbers.dtype,
                          weights.quantization.zero_points);
}

Tensor matrix_weights(const StoredWeights& weights, bool outputs_first) {
  const bool as_stored = outputs_first != weights.transposed;
  return less_zero_points(
      as_stored ? whole_tensor(weights.numbers) : outputs_first_bytes(weights.numbers),
      weights.numbers.dtype, weights.quantization.zero_points);
}

std::vector<double> products_of(float x_scale, const StoredWeights& weights) {
  std::vector<double> products;
  for (const float scale : weights.quantization.scales) {
    products.push_back(static_cast<double>(x_scale) * static_cast<double>(scale));
  }
  return products;
}

Tensor read_bias(const NodeReader& node, int index, std::string_view name, std::int64_t channels,
                 bool row) {
  if (!node.has_input(index)) return Tensor(DType::kInt32, {channels});
  Tensor bias = node.constant(index, name);
  if (bias.dtype != DType::kInt32) {
    node.refuse(std::string(name) + " is " + std::string(dtype_name(bias.dtype)), "int32");
  }
  return bias_of_shape(node, name, std::move(bias), channels, row);
}

Tensor read_real_bias(const NodeReader& node, int index, const ImportedTensor* tensor,
                      std::int64_t channels, const std::vector<double>& products, bool row) {
  Tensor bias(DType::kInt32, {channels});
  if (!node.has_input(index)) return bias;
  if (tensor != nullptr && tensor->kind == ImportedTensor::Kind::kConstant) {
    return dequantized_bias(node, tensor->node, channels, products, row);
  }
  const Tensor reals = node.constant(index, "bias");
  const bool fits = reals.shape == Shape{channels} || (row && reals.shape == Shape{1, channels});
  if (reals.dtype != DType::kFloat32 || !fits) {
    node.refuse("bias is " + std::string(dtype_name(reals.dtype)) + " " + shape_text(reals.shape),
                "float32 " + shape_text({channels}) + ", or int32 after a DequantizeLinear");
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    bias.as<std::int32_t>()[c] =
        bias_at(node, c, reals.as<float>()[c], products[of_channel(c, products.size())]);
  }
  return bias;
}

}  // namespace qsim::formats
