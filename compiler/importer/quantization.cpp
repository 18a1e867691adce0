#include "compiler/importer/quantization.h"

#include <bit>
#include <cstdio>

namespace qsim {
namespace {

bool is_per_tensor(const Shape& shape) { return shape.empty() || shape == Shape{1}; }

std::string float_text(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  return text;
}

// e of a normal float 2^-e: sign and fraction bits are zero, the biased exponent is neither of
// the two special ones.
int exponent_of(const NodeReader& node, float scale, const std::string& what) {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  const std::uint32_t biased = bits >> 23;
  if ((bits & 0x7FFFFF) != 0 || biased == 0 || biased >= 255) {
    node.refuse(what + " = " + float_text(scale), "powers of two from 2^-126 to 2^127");
  }
  return 127 - static_cast<int>(biased);
}

Tensor read_scale(const NodeReader& node, int index, std::string_view name) {
  Tensor scale = node.constant(index, name);
  if (scale.dtype != DType::kFloat32) {
    node.refuse(std::string(name) + " is " + std::string(dtype_name(scale.dtype)), "float32");
  }
  return scale;
}

std::int32_t element(const Tensor& tensor, std::size_t index) {
  return tensor.dtype == DType::kUint8 ? std::int32_t{tensor.as<std::uint8_t>()[index]}
                                       : std::int32_t{tensor.as<std::int8_t>()[index]};
}

void check_weight_zero_points(const NodeReader& node, int index, const std::string& name,
                              std::int64_t channels) {
  const Tensor zeros = node.constant(index, name);
  if (zeros.dtype != DType::kInt8) {
    node.refuse(name + " is " + std::string(dtype_name(zeros.dtype)), "int8");
  }
  if (!is_per_tensor(zeros.shape) && zeros.shape != Shape{channels}) {
    node.refuse(name + " has shape " + shape_text(zeros.shape),
                "[], [1], [" + std::to_string(channels) + "]");
  }
  for (const std::int8_t zero : zeros.as<std::int8_t>()) {
    if (zero != 0) node.refuse(name + " = " + std::to_string(zero), "0");
  }
}

}  // namespace

int read_scale_exponent(const NodeReader& node, int index, std::string_view name) {
  const Tensor scale = read_scale(node, index, name);
  if (!is_per_tensor(scale.shape)) {
    node.refuse(std::string(name) + " has shape " + shape_text(scale.shape), "[], [1]");
  }
  return exponent_of(node, scale.as<float>()[0], std::string(name));
}

Quantization read_quantization(const NodeReader& node, int index, const std::string& name,
                               std::optional<DType> absent) {
  Quantization quantization;
  quantization.scale_exponent = read_scale_exponent(node, index, name + "_scale");
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
  quantization.zero_point = element(zero, 0);
  return quantization;
}

std::vector<int> read_weight_exponents(const NodeReader& node, int index, const std::string& name,
                                       std::int64_t channels) {
  const std::string scale_name = name + "_scale";
  const Tensor scale = read_scale(node, index, scale_name);
  if (!is_per_tensor(scale.shape) && scale.shape != Shape{channels}) {
    node.refuse(scale_name + " has shape " + shape_text(scale.shape),
                "[], [1], [" + std::to_string(channels) + "]");
  }
  std::vector<int> exponents;
  for (const float value : scale.as<float>()) {
    const std::string what = scale.shape.empty()
                                 ? scale_name
                                 : scale_name + "[" + std::to_string(exponents.size()) + "]";
    exponents.push_back(exponent_of(node, value, what));
  }
  check_weight_zero_points(node, index + 1, name + "_zero_point", channels);
  return exponents;
}

Requantization requantization(const NodeReader& node, int input_exponent,
                              const std::vector<int>& weight_exponents,
                              const Quantization& output) {
  Requantization result;
  result.rounding = RoundingMode::kHalfEven;
  result.lo = output.dtype == DType::kUint8 ? 0 : -128;
  result.hi = output.dtype == DType::kUint8 ? 255 : 127;
  for (std::size_t channel = 0; channel < weight_exponents.size(); ++channel) {
    const int shift = input_exponent + weight_exponents[channel] - output.scale_exponent;
    if (shift < 0 || shift > kMaxShift) {
      node.refuse("output channel " + std::to_string(channel) + " needs the shift " +
                      std::to_string(input_exponent) + " + " +
                      std::to_string(weight_exponents[channel]) + " - " +
                      std::to_string(output.scale_exponent) + " = " + std::to_string(shift) +
                      " (exponents of input, weight and output scale)",
                  "shifts 0 to 31");
    }
    result.shifts.push_back(static_cast<std::uint8_t>(shift));
  }
  return result;
}

Tensor read_bias(const NodeReader& node, int index, std::string_view name, std::int64_t channels,
                 bool row) {
  if (!node.has_input(index)) return Tensor(DType::kInt32, {channels});
  Tensor bias = node.constant(index, name);
  if (bias.dtype != DType::kInt32) {
    node.refuse(std::string(name) + " is " + std::string(dtype_name(bias.dtype)), "int32");
  }
  if (row && bias.shape == Shape{1, channels}) bias.shape = {channels};
  if (bias.shape != Shape{channels}) {
    node.refuse(std::string(name) + " has shape " + shape_text(bias.shape),
                shape_text({channels}) + (row ? ", " + shape_text({1, channels}) : ""));
  }
  return bias;
}

}  // namespace qsim
