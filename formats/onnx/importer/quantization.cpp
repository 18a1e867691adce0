#include "formats/onnx/importer/quantization.h"

#include <cstdio>
#include <cstdlib>

namespace qsim::formats {
namespace {

bool is_per_tensor(const Shape& shape) { return shape.empty() || shape == Shape{1}; }

void check_channels(const NodeReader& node, const std::string& name, const Shape& shape,
                    std::int64_t channels) {
  if (is_per_tensor(shape) || shape == Shape{channels}) return;
  node.refuse(name + " has shape " + shape_text(shape),
              "[], [1], [" + std::to_string(channels) + "]");
}

Tensor read_scale(const NodeReader& node, int index, std::string_view name) {
  Tensor scale = node.constant(index, name);
  if (scale.dtype != DType::kFloat32) {
    node.refuse(std::string(name) + " is " + std::string(dtype_name(scale.dtype)), "float32");
  }
  return scale;
}

// With one scale for the tensor the axis means nothing. Blocks came with opset 21, `saturate`
// concerns 8-bit floats only.
void check_attributes(const NodeAttributes& attributes) {
  attributes.integer("axis", 1);
  attributes.require_integer("block_size", 0);
  attributes.require_integer("saturate", 1);
}

DType quantized_dtype(const NodeReader& node, const NodeAttributes& attributes) {
  const std::int64_t type = attributes.integer("output_dtype", onnx::TensorProto::UNDEFINED);
  if (type == onnx::TensorProto::INT8) return DType::kInt8;
  if (type != onnx::TensorProto::UNDEFINED && type != onnx::TensorProto::UINT8) {
    node.refuse("output_dtype = " + std::to_string(type), "int8 (3), uint8 (2)");
  }
  return DType::kUint8;
}

}  // namespace

Value value_of(const Quantization& quantization) {
  return {{}, quantization.dtype, quantization.zero_point, quantization.scale};
}

std::string float_text(float value) {
  char text[32];
  for (const int digits : {6, 7, 8, 9}) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  return text;
}

std::string quantization_text(const Quantization& quantization) {
  return "scale " + float_text(quantization.scale.real()) + ", zero_point " +
         std::to_string(quantization.zero_point);
}

Scale scale_of(const NodeReader& node, float value, const std::string& what) {
  const auto scale = Scale::of(value);
  if (!scale) node.refuse(what + " = " + float_text(value), "positive float32 numbers");
  return *scale;
}

Quantization read_quantization(const NodeReader& node, int index, const std::string& name,
                               std::optional<DType> absent) {
  Quantization quantization;
  const std::string scale_name = name + "_scale";
  const Tensor scale = read_scale(node, index, scale_name);
  if (!is_per_tensor(scale.shape)) {
    node.refuse(scale_name + " has shape " + shape_text(scale.shape), "[], [1]");
  }
  quantization.scale = scale_of(node, scale.as<float>()[0], scale_name);
  if (absent && !node.has_input(index + 1)) {
    quantization.dtype = *absent;
    return quantization;
  }
  const std::string zero_name = name + "_zero_point";
  const Tensor zero = node.constant(index + 1, zero_name);
  if (zero.dtype != DType::kInt8 && zero.dtype != DType::kUint8) {
    node.refuse(zero_name + " is " + std::string(dtype_name(zero.dtype)), "int8, uint8");
  }
  if (!is_per_tensor(zero.shape)) {
    node.refuse(zero_name + " has shape " + shape_text(zero.shape), "[], [1]");
  }
  quantization.dtype = zero.dtype;
  quantization.zero_point = level_at(zero, 0);
  return quantization;
}

Quantization read_quantize_linear(const NodeReader& node) {
  node.require_inputs(2, 3);
  const NodeAttributes attributes(node, {"axis", "block_size", "output_dtype", "saturate"});
  check_attributes(attributes);
  const DType dtype = quantized_dtype(node, attributes);
  const Quantization quantization = read_quantization(node, 1, "y", dtype);
  const bool contradicts = attributes.integer("output_dtype", onnx::TensorProto::UNDEFINED) != 0 &&
                           quantization.dtype != dtype;
  if (contradicts) {
    node.malformed("y_zero_point is " + std::string(dtype_name(quantization.dtype)),
                   std::string(dtype_name(dtype)) + ", as output_dtype says");
  }
  return quantization;
}

ChannelQuantization read_channel_quantization(const NodeReader& node, int index,
                                              const std::string& name, std::int64_t channels,
                                              DType dtype) {
  ChannelQuantization result;
  const std::string scale_name = name + "_scale";
  const Tensor scale = read_scale(node, index, scale_name);
  check_channels(node, scale_name, scale.shape, channels);
  for (const float value : scale.as<float>()) {
    const std::string what = scale.shape.empty()
                                 ? scale_name
                                 : scale_name + "[" + std::to_string(result.scales.size()) + "]";
    result.scales.push_back(scale_of(node, value, what).real());
  }
  if (!node.has_input(index + 1)) {
    result.zero_points = {0};
    return result;
  }
  const std::string zero_name = name + "_zero_point";
  const Tensor zeros = node.constant(index + 1, zero_name);
  if (zeros.dtype != dtype) {
    node.refuse(zero_name + " is " + std::string(dtype_name(zeros.dtype)),
                std::string(dtype_name(dtype)) + ", as " + name + " is");
  }
  check_channels(node, zero_name, zeros.shape, channels);
  for (std::size_t i = 0; i < static_cast<std::size_t>(zeros.elems()); ++i) {
    result.zero_points.push_back(level_at(zeros, i));
  }
  return result;
}

std::int32_t level_at(const Tensor& tensor, std::size_t index) {
  switch (tensor.dtype) {
    case DType::kUint8:
      return tensor.as<std::uint8_t>()[index];
    case DType::kInt32:
      return tensor.as<std::int32_t>()[index];
    default:
      return tensor.as<std::int8_t>()[index];
  }
}

}  // namespace qsim::formats
