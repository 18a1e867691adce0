// Integer weights in the file: behind a DequantizeLinear, or of a layer that finds its input's
// range.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "formats/onnx/exporter/hybrid_layer_writer.h"

namespace qsim::formats {
namespace {

// The place in [M][C][taps] of element `i` of [M][taps][C].
std::size_t channels_first(std::size_t i, std::size_t channels, std::size_t taps) {
  const std::size_t tap = i / channels % taps;
  return (i / (channels * taps) * channels + i % channels) * taps + tap;
}

// A Graph's weights as a list, in the file's order.
template <typename T>
std::vector<T> in_file_order(const std::vector<T>& values, const Shape& shape) {
  if (shape.size() == 2) return values;
  const auto channels = static_cast<std::size_t>(shape[3]);
  const auto taps = static_cast<std::size_t>(shape[1] * shape[2]);
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[channels_first(i, channels, taps)] = values[i];
  }
  return result;
}

std::vector<std::int32_t> levels_of(const IntegerWeights& weights) {
  std::vector<std::int32_t> levels(static_cast<std::size_t>(weights.levels.elems()));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    levels[i] = weights.levels.dtype == DType::kInt16
                    ? std::int32_t{weights.levels.as<std::int16_t>()[i]}
                    : std::int32_t{weights.levels.as<std::int8_t>()[i]};
  }
  return levels;
}

// sign * 2^(e - lo).
std::vector<std::int32_t> levels_of(const Log2Weights& weights) {
  std::vector<std::int32_t> levels(weights.signs.bytes.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::int32_t sign = weights.signs.as<std::int8_t>()[i];
    if (sign != 0) levels[i] = sign * (1 << (weights.exponents.as<std::int8_t>()[i] - weights.lo));
  }
  return levels;
}

template <typename T>
std::string narrowed(const std::vector<std::int32_t>& levels) {
  std::vector<T> narrow(levels.size());
  std::ranges::transform(levels, narrow.begin(), [](std::int32_t v) { return static_cast<T>(v); });
  return bytes_of(narrow);
}

Shape file_shape(const Shape& shape) {
  return shape.size() == 2 ? shape : Shape{shape[0], shape[3], shape[1], shape[2]};
}

}  // namespace

HybridLayerWriter::Stored HybridLayerWriter::stored(const Tensor& weights) const {
  Stored result;
  result.shape = file_shape(weights.shape);
  const RealLayerWeights* own = integers();
  if (own == nullptr) {
    const auto values = weights.as<float>();
    result.bytes =
        bytes_of(in_file_order(std::vector<float>(values.begin(), values.end()), weights.shape));
    return result;
  }
  const auto levels = in_file_order(
      std::visit([](const auto& each) { return levels_of(each); }, own->weights), weights.shape);
  const auto [least, most] = std::ranges::minmax(levels);
  if (const auto* log2 = std::get_if<Log2Weights>(&own->weights)) {
    for (const float scale : log2->scales) result.scales.push_back(std::ldexp(scale, log2->lo));
  } else {
    const auto& each = std::get<IntegerWeights>(own->weights);
    result.scales = each.scales;
    if (!each.zero_points.empty()) {
      result.dtype = onnx::TensorProto::UINT8;
      result.zero_points = narrowed<std::uint8_t>(each.zero_points);
      result.bytes = narrowed<std::uint8_t>(levels);
      return result;
    }
  }
  const bool fits = least >= -128 && most <= 127;
  result.dtype = fits ? onnx::TensorProto::INT8 : onnx::TensorProto::INT32;
  result.bytes = fits ? narrowed<std::int8_t>(levels) : bytes_of(levels);
  return result;
}

void HybridLayerWriter::turn(Stored& stored) const {
  const auto rows = static_cast<std::size_t>(stored.shape[0]);
  const auto columns = static_cast<std::size_t>(stored.shape[1]);
  if (stored.bytes.size() != rows * columns) return;  // add_dynamic() refuses it
  std::string turned(stored.bytes.size(), '\0');
  for (std::size_t i = 0; i < stored.bytes.size(); ++i) {
    turned[i % columns * rows + i / columns] = stored.bytes[i];
  }
  stored.bytes = std::move(turned);
  std::swap(stored.shape[0], stored.shape[1]);
}

std::string HybridLayerWriter::add_weights(const Stored& stored) {
  const std::string& name = layer().name;
  const std::string weights =
      model_.add_constant(name + "/weights", stored.dtype, stored.shape, stored.bytes);
  if (stored.scales.empty()) return weights;
  const Shape shape = stored.scales.size() == 1 ? Shape{} : Shape{std::ssize(stored.scales)};
  TensorNames inputs = {weights, model_.add_floats(name + "/weights_scale", shape, stored.scales)};
  if (!stored.zero_points.empty()) {
    inputs.push_back(
        model_.add_constant(name + "/weights_zero_point", stored.dtype, shape, stored.zero_points));
  }
  onnx::NodeProto& node = model_.add_node("DequantizeLinear", name + "/weights_real", inputs);
  set_int(node, "axis", 0);
  return node.output(0);
}

onnx::NodeProto& HybridLayerWriter::add_dynamic(const char* op_type, const Stored& stored,
                                                const Tensor& bias, bool is_conv) {
  const std::string& name = layer().name;
  if (stored.dtype == onnx::TensorProto::INT32) {
    refuse("dynamic quantization with weights beyond 8 bits", "weights that int8 holds");
  }
  onnx::NodeProto& quantize =
      model_.add_node("DynamicQuantizeLinear", name + "/quantize", {operand()});
  const std::string levels = quantize.output(0);
  const std::string scale = model_.new_name(name + "/input_scale");
  const std::string zero_point = model_.new_name(name + "/input_zero_point");
  quantize.add_output(scale);
  quantize.add_output(zero_point);
  TensorNames inputs = {
      levels, model_.add_constant(name + "/weights", stored.dtype, stored.shape, stored.bytes),
      zero_point};
  if (!stored.zero_points.empty()) {
    const bool is_one = stored.zero_points.size() == 1;
    inputs.push_back(model_.add_constant(name + "/weights_zero_point", stored.dtype,
                                         is_one ? Shape{} : Shape{std::ssize(stored.zero_points)},
                                         stored.zero_points));
  }
  const std::string sums = model_.new_name(name + "/sums");
  onnx::NodeProto& node = model_.add_node(op_type, name, inputs, sums);
  onnx::NodeProto& cast = model_.add_node("Cast", name + "/cast", {sums});
  set_int(cast, "to", onnx::TensorProto::FLOAT);
  const auto by_channel = [&](std::int64_t count) {
    if (count == 1 && !is_conv) return Shape{1};
    return is_conv ? Shape{1, count, 1, 1} : Shape{count};
  };
  const std::string weights_scale = model_.add_floats(
      name + "/weights_scale", by_channel(std::ssize(stored.scales)), stored.scales);
  const std::string scales =
      model_.add_node("Mul", name + "/scales", {scale, weights_scale}).output(0);
  const std::string scaled =
      model_.add_node("Mul", name + "/scaled", {cast.output(0), scales}).output(0);
  const auto values = bias.as<float>();
  const std::string b = model_.add_floats(name + "/bias", by_channel(std::ssize(values)),
                                          {values.begin(), values.end()});
  const std::string output = model_.new_name(name + "/output");
  model_.add_node("Add", model_.new_name(name + "/add"), {scaled, b}, output);
  define(layer().output, output);
  return node;
}

}  // namespace qsim::formats
