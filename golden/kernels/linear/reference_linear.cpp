#include "golden/kernels/linear/reference_linear.h"

#include <algorithm>
#include <cmath>

#include "golden/common/float_environment.h"

namespace qsim::golden {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// A row of x: its FP32 bits, and in steps of 2^exponent where it is finite.
struct Row {
  std::vector<std::uint32_t> bits;
  std::vector<std::int64_t> fixed;
  int exponent = 0;
};

Row row_of(const FloatMatrix& x, std::size_t row) {
  const auto columns = static_cast<std::size_t>(x.columns);
  Row result;
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < columns; ++k) {
    const std::uint32_t bits = x.fp32_bits(row * columns + k);
    result.bits.push_back(bits);
    if (is_finite(bits)) largest = std::max(largest, bits & kFp32Magnitude);
  }
  result.exponent = step_exponent(x.type, largest);
  for (const std::uint32_t bits : result.bits) {
    result.fixed.push_back(is_finite(bits) ? fixed_point(bits, result.exponent) : 0);
  }
  return result;
}

// Rounds to FP32, to nearest, ties to even, with integers only.
float round_to_float(Wide value) {
  const bool negative = value < 0;
  auto magnitude = static_cast<UnsignedWide>(negative ? -value : value);
  int dropped = 0;
  while (magnitude >> dropped >= (1U << 24)) ++dropped;
  if (dropped > 0) {
    const UnsignedWide half = static_cast<UnsignedWide>(1) << (dropped - 1);
    const bool odd = (magnitude >> dropped & 1) != 0;
    magnitude = (magnitude + half - (odd ? 0 : 1)) >> dropped;
  }
  const float result =
      std::ldexp(static_cast<float>(static_cast<std::uint32_t>(magnitude)), dropped);
  return negative ? -result : result;
}

// The rounded sum of one group, before its scale.
float group_sum(const Row& x, const LinearWeights& weights, std::size_t channel,
                std::size_t group) {
  const auto in_features = static_cast<std::size_t>(weights.in_features);
  const auto elems = static_cast<std::size_t>(weights.group_elems());
  const std::size_t end = std::min(in_features, (group + 1) * elems);
  const int zero_point = weights.zero_point(channel, group);
  Wide sum = 0;
  NonFiniteSum non_finite;
  for (std::size_t k = group * elems; k < end; ++k) {
    const int weight = weights.values[channel * in_features + k] - zero_point;
    if (is_finite(x.bits[k])) {
      sum += static_cast<Wide>(x.fixed[k]) * weight;
    } else {
      non_finite.add(x.bits[k], weight);
    }
  }
  return non_finite.any() ? non_finite.value() : round_to_float(sum);
}

// A row of x as int8.
struct CodedRow {
  std::vector<int> codes;
  float scale = 1;
};

CodedRow coded_row(const FloatMatrix& x, std::size_t row, const Int8Activations& activations) {
  const auto columns = static_cast<std::size_t>(x.columns);
  CodedRow result;
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < columns; ++k) {
    const std::uint32_t bits = x.fp32_bits(row * columns + k);
    if (is_finite(bits)) largest = std::max(largest, bits & kFp32Magnitude);
  }
  result.scale = activations.scale ? *activations.scale : row_scale(largest);
  for (std::size_t k = 0; k < columns; ++k) {
    result.codes.push_back(activation_code(x.fp32_bits(row * columns + k), result.scale));
  }
  return result;
}

}  // namespace

FloatMatrix reference_linear(const FloatMatrix& x, const LinearWeights& weights,
                             std::span<const float> bias, FloatType y_type) {
  check_shapes(x, weights, bias);
  const FloatEnvironment environment;
  const auto channels = static_cast<std::size_t>(weights.out_features);
  const auto groups = static_cast<std::size_t>(weights.groups());
  FloatMatrix y(y_type, x.rows, weights.out_features);
  for (std::size_t m = 0; m < static_cast<std::size_t>(x.rows); ++m) {
    const Row row = row_of(x, m);
    for (std::size_t n = 0; n < channels; ++n) {
      float sum = 0;
      for (std::size_t group = 0; group < groups; ++group) {
        sum = std::fma(group_sum(row, weights, n, group), weights.scales[n * groups + group], sum);
      }
      float result = sum * power_of_two(row.exponent);
      if (!bias.empty()) result += bias[n];
      y.set(m * channels + n, canonical(result));
    }
  }
  return y;
}

FloatMatrix reference_linear_int8(const FloatMatrix& x, const Int8Activations& activations,
                                  const LinearWeights& weights, std::span<const float> bias,
                                  FloatType y_type) {
  check_shapes(x, weights, bias);
  check_int8_activations(weights.group_size, weights.bits, activations);
  const FloatEnvironment environment;
  const auto channels = static_cast<std::size_t>(weights.out_features);
  const auto in_features = static_cast<std::size_t>(weights.in_features);
  FloatMatrix y(y_type, x.rows, weights.out_features);
  for (std::size_t m = 0; m < static_cast<std::size_t>(x.rows); ++m) {
    const CodedRow row = coded_row(x, m, activations);
    for (std::size_t n = 0; n < channels; ++n) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < in_features; ++k) {
        sum += std::int64_t{row.codes[k]} * weights.values[n * in_features + k];
      }
      float result = scaled_sum(static_cast<std::int32_t>(sum), weights.scales[n], row.scale);
      if (!bias.empty()) result += bias[n];
      y.set(m * channels + n, canonical(result));
    }
  }
  return y;
}

}  // namespace qsim::golden
