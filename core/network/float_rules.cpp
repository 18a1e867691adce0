#include "core/network/float_rules.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace qsim {
namespace {

float polynomial(float square, std::span<const float> constants) {
  float value = constants[0];
  for (const float constant : constants.subspan(1)) value = std::fma(square, value, constant);
  return value;
}

float real_scale(const Value& value) { return value.scale ? value.scale->real() : 1.0F; }

}  // namespace

std::int32_t level_of_byte(std::size_t byte, DType dtype) {
  const auto level = static_cast<std::int32_t>(byte);
  return dtype == DType::kInt8 && level > 127 ? level - 256 : level;
}

std::int32_t quantized(float real, const Value& output) {
  const float quotient = real / real_scale(output);
  if (std::isnan(quotient)) return output.zero_point;
  // Beyond 512 levels every zero_point saturates alike.
  const float rounded = std::nearbyint(std::clamp(quotient, -512.0F, 512.0F));
  return std::clamp(static_cast<std::int32_t>(rounded) + output.zero_point, output.min(),
                    output.max());
}

ByteFunction dequantized_bytes(const Value& input) {
  ByteFunction values{};
  for (std::size_t byte = 0; byte < values.size(); ++byte) {
    const std::int32_t centred = level_of_byte(byte, input.dtype) - input.zero_point;
    values[byte] = static_cast<float>(centred) * real_scale(input);
  }
  return values;
}

ByteFunction mapped(const ByteFunction& values, const RealFunction& function) {
  ByteFunction result{};
  std::transform(values.begin(), values.end(), result.begin(), function);
  return result;
}

ByteTable quantized_bytes(const ByteFunction& values, const Value& output) {
  ByteTable bytes{};
  std::transform(values.begin(), values.end(), bytes.begin(),
                 [&](float real) { return static_cast<std::uint8_t>(quantized(real, output)); });
  return bytes;
}

float relu(float x) { return std::max(x, 0.0F); }

float leaky_relu(float x, float alpha) { return x >= 0.0F ? x : alpha * x; }

float hard_sigmoid(float x, float alpha, float beta) {
  const float product = alpha * x;
  return std::clamp(product + beta, 0.0F, 1.0F);
}

float hard_swish(float x) { return x * hard_sigmoid(x, 1.0F / 6.0F, 0.5F); }

float sigmoid(float x) {
  const float v = std::clamp(x, -kSigmoidBound, kSigmoidBound);
  const float square = v * v;
  const float numerator = v * polynomial(square, kSigmoidOdd);
  const float quotient = numerator / polynomial(square, kSigmoidEven);
  return std::clamp(quotient + 0.5F, 0.0F, 1.0F);
}

float clip(float x, float lo, float hi) { return std::min(std::max(x, lo), hi); }

float activated(const Activation& activation, float x) {
  using Kind = Activation::Kind;
  switch (activation.kind) {
    case Kind::kRelu:
      return relu(x);
    case Kind::kClip:
      return clip(x, activation.lo, activation.hi);
    case Kind::kLeakyRelu:
      return leaky_relu(x, activation.alpha);
    case Kind::kSigmoid:
      return sigmoid(x);
    case Kind::kHardSigmoid:
      return hard_sigmoid(x, activation.alpha, activation.beta);
    case Kind::kHardSwish:
      return hard_swish(x);
  }
  QSIM_CHECK(false, "an activation of no kind");
}

ByteTable table_of(const Activation& activation, const Value& input, const Value& output) {
  const auto function = [&](float x) { return activated(activation, x); };
  return quantized_bytes(mapped(dequantized_bytes(input), function), output);
}

std::vector<ByteTable> tables_of(const PRelu& prelu, const Value& input, const Value& output) {
  std::span<const float> slopes = prelu.slopes.as<float>();
  const bool are_equal =
      std::ranges::all_of(slopes, [&](float slope) { return slope == slopes[0]; });
  if (are_equal) slopes = slopes.first(1);
  std::vector<ByteTable> tables;
  for (const float slope : slopes) {
    tables.push_back(
        table_of({.kind = Activation::Kind::kLeakyRelu, .alpha = slope}, input, output));
  }
  return tables;
}

ByteTable requantizing_table(const Value& input, const Value& output) {
  return quantized_bytes(dequantized_bytes(input), output);
}

}  // namespace qsim
