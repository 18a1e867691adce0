#include "golden/kernels/linear/linear.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "core/base/checked_math.h"
#include "core/base/error.h"

namespace qsim::golden {
namespace {

std::string pair_text(std::int64_t rows, std::int64_t columns) {
  return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
}

void check_count(const char* what, std::size_t found, std::int64_t needed) {
  if (static_cast<std::int64_t>(found) == needed) return;
  throw_bad_input("linear: " + std::to_string(found) + " " + what +
                  "; the sizes of the weights need " + std::to_string(needed));
}

}  // namespace

std::string_view float_type_name(FloatType type) {
  switch (type) {
    case FloatType::kFloat32:
      return "fp32";
    case FloatType::kFloat16:
      return "fp16";
    case FloatType::kBfloat16:
      return "bf16";
  }
  return "?";
}

std::size_t float_type_bytes(FloatType type) { return type == FloatType::kFloat32 ? 4 : 2; }

FloatMatrix::FloatMatrix(FloatType type_in, std::int64_t rows_in, std::int64_t columns_in)
    : type(type_in),
      rows(rows_in),
      columns(columns_in),
      bytes(static_cast<std::size_t>(
          checked_mul(checked_mul(rows_in, columns_in),
                      static_cast<std::int64_t>(float_type_bytes(type_in))))) {}

std::uint32_t FloatMatrix::fp32_bits(std::size_t index) const {
  if (type == FloatType::kFloat32) {
    std::uint32_t bits;
    std::memcpy(&bits, bytes.data() + 4 * index, sizeof bits);
    return canonical(float_of(bits));
  }
  std::uint16_t code;
  std::memcpy(&code, bytes.data() + 2 * index, sizeof code);
  return type == FloatType::kFloat16 ? decode<kFp16>(code) : decode<kBf16>(code);
}

void FloatMatrix::set(std::size_t index, std::uint32_t fp32_bits) {
  if (type == FloatType::kFloat32) {
    std::memcpy(bytes.data() + 4 * index, &fp32_bits, sizeof fp32_bits);
    return;
  }
  const auto code = static_cast<std::uint16_t>(
      type == FloatType::kFloat16 ? encode<kFp16>(fp32_bits) : encode<kBf16>(fp32_bits));
  std::memcpy(bytes.data() + 2 * index, &code, sizeof code);
}

std::int64_t LinearWeights::groups() const {
  return group_size == 0 ? 1 : ceil_div(in_features, group_size);
}

void check_sizes(std::int64_t out_features, std::int64_t in_features, std::int64_t group_size,
                 int bits) {
  if (bits != 8 && bits != 4) {
    throw_bad_input("linear: weights of " + std::to_string(bits) + " bits; allowed: 8 and 4");
  }
  if (out_features < 1 || in_features < 1) {
    throw_bad_input("linear: weights of shape " + pair_text(out_features, in_features) +
                    "; each size must be at least 1");
  }
  if (in_features > kMostInFeatures) {
    throw_bad_input("linear: " + std::to_string(in_features) + " input features; at most " +
                    std::to_string(kMostInFeatures) + " are allowed, whose sums fit 32 bits");
  }
  if (group_size != 0 && group_size != 32 && group_size != 64 && group_size != 128) {
    throw_bad_input("linear: a group_size of " + std::to_string(group_size) +
                    "; allowed: 32, 64, 128, and 0 for one scale an output channel");
  }
}

void check_weights(const LinearWeights& weights) {
  check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  const std::int64_t scales = checked_mul(weights.out_features, weights.groups());
  check_count("weights", weights.values.size(),
              checked_mul(weights.out_features, weights.in_features));
  check_count("scales", weights.scales.size(), scales);
  check_count("zero_points", weights.zero_points.size(), weights.bits == 4 ? scales : 0);
}

void check_rows(const FloatMatrix& x, std::int64_t in_features) {
  if (x.columns != in_features || x.rows < 1) {
    throw_bad_input("linear: x is " + pair_text(x.rows, x.columns) + "; the weights take rows of " +
                    std::to_string(in_features) + ", and at least one");
  }
}

void check_bias(const LinearWeights& weights, std::span<const float> bias) {
  if (!bias.empty() && static_cast<std::int64_t>(bias.size()) != weights.out_features) {
    throw_bad_input("linear: " + std::to_string(bias.size()) +
                    " values of bias; the weights have " + std::to_string(weights.out_features) +
                    " output channels");
  }
}

void check_shapes(const FloatMatrix& x, const LinearWeights& weights, std::span<const float> bias) {
  check_weights(weights);
  check_rows(x, weights.in_features);
  check_bias(weights, bias);
}

void check_int8_activations(std::int64_t group_size, int bits, const Int8Activations& activations) {
  if (bits != 8 || group_size != 0) {
    throw_bad_input("linear: int8 activations with weights of " + std::to_string(bits) +
                    " bits and a group_size of " + std::to_string(group_size) +
                    "; allowed: 8 bits and 0, one scale an output channel");
  }
  if (!activations.scale) return;
  if (is_finite(bits_of(*activations.scale)) && *activations.scale >= float_of(kLeastScale)) return;
  char found[32];
  std::snprintf(found, sizeof found, "%.9g", static_cast<double>(*activations.scale));
  throw_bad_input(std::string("linear: the scale of x is ") + found +
                  "; allowed: a finite number of at least 2^-126");
}

void check_values(const FloatMatrix& x, const LinearWeights& weights, std::span<const float> bias) {
  const auto at = [](std::size_t index, std::int64_t columns) {
    const auto place = static_cast<std::int64_t>(index);
    return pair_text(place / columns, place % columns);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.rows * x.columns); ++i) {
    if (is_finite(x.fp32_bits(i))) continue;
    throw_bad_input("linear: x" + at(i, x.columns) + " is infinite or not a number");
  }
  const int least = weights.bits == 4 ? 0 : -127;
  const int most = weights.bits == 4 ? 15 : 127;
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    const int value = weights.values[i];
    if (value >= least && value <= most) continue;
    throw_bad_input("linear: weight" + at(i, weights.in_features) + " is " + std::to_string(value) +
                    "; allowed: " + std::to_string(least) + " to " + std::to_string(most));
  }
  for (std::size_t i = 0; i < weights.scales.size(); ++i) {
    if (is_finite(bits_of(weights.scales[i])) && weights.scales[i] > 0) continue;
    throw_bad_input("linear: scale" + at(i, weights.groups()) + " is not a positive finite number");
  }
  for (std::size_t i = 0; i < bias.size(); ++i) {
    if (is_finite(bits_of(bias[i]))) continue;
    throw_bad_input("linear: bias[" + std::to_string(i) + "] is infinite or not a number");
  }
}

}  // namespace qsim::golden
