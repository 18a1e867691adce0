#include "tests/golden/linear/random_linear.h"

#include <cmath>
#include <cstring>

namespace qsim::golden {
namespace {

constexpr FloatType kTypes[] = {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBfloat16};

float near_one(Random& random) {
  const auto mantissa = static_cast<float>(random.uniform(-(1 << 20), 1 << 20));
  return mantissa * power_of_two(static_cast<int>(random.uniform(-28, -17)));
}

// Bits of the type, not of FP32.
std::uint32_t any_bits(Random& random, FloatType type) {
  const auto bits = static_cast<std::uint32_t>(random.next() >> 32);
  return type == FloatType::kFloat32 ? bits : bits >> 16;
}

std::uint32_t largest_bits(FloatType type) {
  switch (type) {
    case FloatType::kFloat32:
      return 0x7F7FFFFF;
    case FloatType::kFloat16:
      return 0x7BFF;
    case FloatType::kBfloat16:
      return 0x7F7F;
  }
  return 0;
}

}  // namespace

FloatMatrix random_floats(Random& random, FloatType type, std::int64_t rows, std::int64_t columns,
                          Values values) {
  FloatMatrix x(type, rows, columns);
  const std::size_t size = float_type_bytes(type);
  for (std::size_t i = 0; i < x.bytes.size() / size; ++i) {
    if (values == Values::kNear) {
      x.set(i, bits_of(near_one(random)));
      continue;
    }
    do {
      const std::uint32_t bits =
          values == Values::kLarge ? largest_bits(type) : any_bits(random, type);
      std::memcpy(x.bytes.data() + size * i, &bits, size);
    } while (values == Values::kAnyFinite && !is_finite(x.fp32_bits(i)));
  }
  return x;
}

LinearWeights random_weights(Random& random, std::int64_t out_features, std::int64_t in_features,
                             std::int64_t group_size, int bits) {
  LinearWeights weights;
  weights.out_features = out_features;
  weights.in_features = in_features;
  weights.group_size = group_size;
  weights.bits = bits;
  const bool extremes = random.chance(0.2);
  for (std::int64_t i = 0; i < out_features * in_features; ++i) {
    std::int64_t value = bits == 8 ? random.uniform(-127, 127) : random.uniform(0, 15);
    if (extremes) value = bits == 8 ? (random.chance(0.5) ? 127 : -127) : value / 8 * 15;
    if (random.chance(0.05)) value = 0;
    weights.values.push_back(static_cast<std::int8_t>(value));
  }
  for (std::int64_t i = 0; i < out_features * weights.groups(); ++i) {
    const int exponent =
        static_cast<int>(random.chance(0.9) ? random.uniform(-14, 0) : random.uniform(-149, 100));
    weights.scales.push_back(1 + static_cast<float>(random.uniform(0, 1 << 20)) * 0x1p-20F);
    weights.scales.back() *= power_of_two(exponent);
    if (bits == 4) weights.zero_points.push_back(static_cast<std::uint8_t>(random.uniform(0, 15)));
  }
  return weights;
}

LinearCase random_linear_case(Random& random, std::int64_t most_rows, std::int64_t most_features,
                              OutFeatures out_features) {
  LinearCase result;
  const FloatType type = kTypes[random.uniform(0, 2)];
  const auto values = static_cast<Values>(random.uniform(0, 3));
  const std::int64_t in_features = random.uniform(1, most_features);
  const std::int64_t group_sizes[] = {0, 0, 32, 64, 128};
  result.x = random_floats(random, type, random.uniform(1, most_rows), in_features, values);
  result.weights =
      random_weights(random, random.uniform(out_features.least, out_features.most), in_features,
                     group_sizes[random.uniform(0, 4)], random.chance(0.6) ? 8 : 4);
  if (random.chance(0.6)) {
    for (std::int64_t i = 0; i < result.weights.out_features; ++i) {
      result.bias.push_back(near_one(random));
    }
  }
  result.y_type = random.chance(0.5) ? FloatType::kFloat32 : type;
  return result;
}

Int8LinearCase random_int8_case(Random& random, std::int64_t most_rows, std::int64_t most_features,
                                OutFeatures out_features) {
  Int8LinearCase result{random_linear_case(random, most_rows, most_features, out_features), {}};
  LinearWeights& weights = result.layer.weights;
  weights = random_weights(random, weights.out_features, weights.in_features, 0, 8);
  if (random.chance(0.3)) {
    result.activations.scale = std::abs(near_one(random)) + 0x1p-20F;
    if (random.chance(0.1)) result.activations.scale = 0x1p-126F;
  }
  return result;
}

}  // namespace qsim::golden
