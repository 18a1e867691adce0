// The nouns of a weight-only linear layer, y = x W^T + b: float activations, integer weights.
// docs/reference/kernels.md defines every bit of the result; reference_linear.h computes
// it plainly, packed_linear.h fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "golden/kernels/linear/int8_activations.h"
#include "golden/kernels/linear/linear_arithmetic.h"

namespace qsim::golden {

std::string_view float_type_name(FloatType type);  // "fp32", "fp16", "bf16"
std::size_t float_type_bytes(FloatType type);

// Floats in row-major order, little-endian, as the type stores them.
struct FloatMatrix {
  FloatType type = FloatType::kFloat32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::byte> bytes;

  FloatMatrix() = default;
  // Zeros.
  FloatMatrix(FloatType type, std::int64_t rows, std::int64_t columns);

  // The FP32 bits of element `index`: exact, and each NaN is the canonical one.
  std::uint32_t fp32_bits(std::size_t index) const;
  // Stores an FP32 number, rounded to the type.
  void set(std::size_t index, std::uint32_t fp32_bits);

  bool operator==(const FloatMatrix&) const = default;
};

// One row for each output channel. Weight [n, k] is
//   (values[n * in_features + k] - zero_point) * scale,
// with the scale and zero_point of group k / group_size of channel n.
struct LinearWeights {
  std::int64_t out_features = 0;  // N
  std::int64_t in_features = 0;   // K
  // 32, 64 or 128 input features have a scale, the last group of a channel perhaps fewer. 0: all.
  std::int64_t group_size = 0;
  int bits = 8;                           // 8: values in -127..127. 4: values in 0..15.
  std::vector<std::int8_t> values;        // [N][K]
  std::vector<float> scales;              // [N][groups]
  std::vector<std::uint8_t> zero_points;  // [N][groups], 0..15, of 4 bits; empty of 8

  std::int64_t groups() const;
  std::int64_t group_elems() const { return group_size == 0 ? in_features : group_size; }
  int zero_point(std::size_t channel, std::size_t group) const {
    return zero_points.empty() ? 0
                               : zero_points[channel * static_cast<std::size_t>(groups()) + group];
  }

  bool operator==(const LinearWeights&) const = default;
};

// Throws Error for sizes that do not fit or are not allowed. An empty bias is none.
void check_sizes(std::int64_t out_features, std::int64_t in_features, std::int64_t group_size,
                 int bits);
void check_weights(const LinearWeights& weights);
void check_rows(const FloatMatrix& x, std::int64_t in_features);
void check_bias(const LinearWeights& weights, std::span<const float> bias);
void check_shapes(const FloatMatrix& x, const LinearWeights& weights, std::span<const float> bias);
// What a layer with int8 activations takes: int8 weights with one scale an output channel, and a
// scale of x, if it is static, that is finite and at least 2^-126.
void check_int8_activations(std::int64_t group_size, int bits, const Int8Activations& activations);

// Callers may ask for this check. Throws Error for a value of x or bias that is not finite, a scale
// that is not a positive finite number, and a weight outside its range. Without it, floats that are
// not finite and other scales have a defined result; weights outside their range do not.
void check_values(const FloatMatrix& x, const LinearWeights& weights, std::span<const float> bias);

}  // namespace qsim::golden
