// Reads and writes 8-bit activations as int32 whatever their dtype. For the plain loops, which
// prefer clarity to speed.
#pragma once

#include "core/base/tensor.h"

namespace qsim::golden {

// The element at row-major `index` of an int8 or uint8 tensor.
inline std::int32_t quantized_at(const Tensor& tensor, std::int64_t index) {
  const auto byte = std::to_integer<std::uint8_t>(tensor.bytes[static_cast<std::size_t>(index)]);
  return tensor.dtype == DType::kUint8 ? byte : static_cast<std::int8_t>(byte);
}

// `value` must be within the tensor's dtype.
inline void set_quantized(Tensor& tensor, std::int64_t index, std::int32_t value) {
  tensor.bytes[static_cast<std::size_t>(index)] =
      static_cast<std::byte>(static_cast<std::uint8_t>(value));
}

// The element at row-major `index` of int8 or int16 weights.
inline std::int32_t weight_at(const Tensor& weights, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return weights.dtype == DType::kInt16 ? weights.as<std::int16_t>()[at]
                                        : weights.as<std::int8_t>()[at];
}

// Row-major index of [n][y][x][c] in a picture tensor.
constexpr std::int64_t nhwc_index(std::int64_t height, std::int64_t width, std::int64_t channels,
                                  std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) {
  return ((n * height + y) * width + x) * channels + c;
}

// acc + x * w mod 2^32, the accumulator of the numeric contract.
constexpr std::int32_t wrapping_mac(std::int32_t acc, std::int32_t x, std::int32_t w) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(acc) +
                                   static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(w));
}

}  // namespace qsim::golden
