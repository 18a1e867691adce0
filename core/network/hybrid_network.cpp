#include "core/network/hybrid_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/base/error.h"

namespace qsim {
namespace {

std::size_t of_channel(std::size_t channel, std::size_t count) { return count == 1 ? 0 : channel; }

Tensor dequantized(const IntegerWeights& weights) {
  Tensor result(DType::kFloat32, weights.levels.shape);
  const auto values = result.as<float>();
  const std::size_t each = values.size() / static_cast<std::size_t>(result.shape[0]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int32_t level = weights.levels.dtype == DType::kInt16
                                   ? weights.levels.as<std::int16_t>()[i]
                                   : weights.levels.as<std::int8_t>()[i];
    const std::size_t zeros = weights.zero_points.size();
    const std::int32_t zero = zeros == 0 ? 0 : weights.zero_points[of_channel(i / each, zeros)];
    values[i] = static_cast<float>(level - zero) *
                weights.scales[of_channel(i / each, weights.scales.size())];
  }
  return result;
}

Tensor dequantized(const Log2Weights& weights) {
  Tensor result(DType::kFloat32, weights.signs.shape);
  const auto values = result.as<float>();
  const std::size_t each = values.size() / static_cast<std::size_t>(result.shape[0]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = weights.scales[of_channel(i / each, weights.scales.size())];
    values[i] = static_cast<float>(weights.signs.as<std::int8_t>()[i]) *
                std::ldexp(scale, weights.exponents.as<std::int8_t>()[i]);
  }
  return result;
}

std::int64_t level_at(const Tensor& levels, std::size_t i) {
  return levels.dtype == DType::kInt16 ? levels.as<std::int16_t>()[i] : levels.as<std::int8_t>()[i];
}

// The levels as int8 where all fit.
Tensor narrowed(const Tensor& levels) {
  const auto wide = levels.as<std::int16_t>();
  const auto [least, most] = std::ranges::minmax(wide);
  if (least < -128 || most > 127) return levels;
  Tensor narrow(DType::kInt8, levels.shape);
  std::ranges::transform(wide, narrow.as<std::int8_t>().begin(),
                         [](std::int16_t level) { return static_cast<std::int8_t>(level); });
  return narrow;
}

bool is_power(std::int16_t level) {
  return level == 0 || std::has_single_bit(static_cast<std::uint16_t>(std::abs(level)));
}

// Levels and zero_points both moved so that uint8 holds them.
IntegerWeights unsigned_weights(const Tensor& levels, std::vector<float> scales,
                                std::vector<std::int32_t> zero_points) {
  const auto [least, most] = std::ranges::minmax(levels.as<std::int16_t>());
  const std::int32_t moved = least < 0 ? 128 : 0;
  const auto [least_zero, most_zero] = std::ranges::minmax(zero_points);
  if (std::min<std::int32_t>(least, least_zero) + moved < 0 ||
      std::max<std::int32_t>(most, most_zero) + moved > 255) {
    throw_bad_input("integer weights of " + std::to_string(least) + ".." + std::to_string(most) +
                    " with zero_points " + std::to_string(least_zero) + ".." +
                    std::to_string(most_zero) + "; expected what 8 bits hold");
  }
  IntegerWeights result{levels, std::move(scales), std::move(zero_points)};
  for (std::int16_t& level : result.levels.as<std::int16_t>()) {
    level = static_cast<std::int16_t>(level + moved);
  }
  for (std::int32_t& zero : result.zero_points) zero += moved;
  return result;
}

}  // namespace

Log2Weights log2_weights(const Tensor& levels, std::vector<float> scales) {
  Log2Weights result;
  result.signs = Tensor(DType::kInt8, levels.shape);
  result.exponents = Tensor(DType::kInt8, levels.shape);
  result.scales = std::move(scales);
  result.lo = 0;
  result.hi = 0;
  for (std::size_t i = 0; i < result.signs.bytes.size(); ++i) {
    const std::int64_t level = level_at(levels, i);
    const auto magnitude = static_cast<std::uint64_t>(std::abs(level));
    if (level == 0) continue;
    if (!std::has_single_bit(magnitude)) {
      throw_bad_input("log2 weights: level " + std::to_string(i) + " is " + std::to_string(level) +
                      "; expected 0 or a power of two with a sign");
    }
    const int exponent = std::countr_zero(magnitude);
    result.signs.as<std::int8_t>()[i] = level < 0 ? -1 : 1;
    result.exponents.as<std::int8_t>()[i] = static_cast<std::int8_t>(exponent);
    result.hi = std::max(result.hi, exponent);
  }
  return result;
}

RealLayerWeights layer_weights_of(const Tensor& levels, std::vector<float> scales,
                                  std::vector<std::int32_t> zero_points) {
  QSIM_CHECK(levels.dtype == DType::kInt16 && zero_points.size() == scales.size(),
             "int16 levels, a zero_point a scale");
  if (std::ranges::any_of(zero_points, [](std::int32_t zero) { return zero != 0; })) {
    return {unsigned_weights(levels, std::move(scales), std::move(zero_points))};
  }
  const auto wide = levels.as<std::int16_t>();
  if (std::ranges::all_of(wide, is_power)) return {log2_weights(levels, std::move(scales))};
  const auto [least, most] = std::ranges::minmax(wide);
  if (least < -kMostIntegerWeight || most > kMostIntegerWeight) {
    throw_bad_input("integer weights of " + std::to_string(least) + ".." + std::to_string(most) +
                    "; expected at most 255 from 0, or powers of two alone");
  }
  return {IntegerWeights{narrowed(levels), std::move(scales), {}}};
}

HybridMode mode_of(const HybridNetwork& network) {
  if (std::ranges::any_of(network.rules, [](const auto& rule) { return rule.has_value(); })) {
    return HybridMode::kFake;
  }
  const auto any_input = [&](auto is) {
    return std::ranges::any_of(network.weights, [&](const auto& layer) {
      return layer.second.input && is(*layer.second.input);
    });
  };
  const auto is_dynamic = [](const InputRule& rule) {
    return std::holds_alternative<DynamicRule>(rule);
  };
  if (any_input(is_dynamic)) return HybridMode::kDynamic;
  return any_input([](const InputRule&) { return true; }) ? HybridMode::kIntegerLayers
                                                          : HybridMode::kWeightOnly;
}

std::string_view mode_name(HybridMode mode) {
  switch (mode) {
    case HybridMode::kWeightOnly:
      return "weight-only quantization";
    case HybridMode::kDynamic:
      return "dynamic quantization";
    case HybridMode::kFake:
      return "fake quantization";
    case HybridMode::kIntegerLayers:
      return "integer layers";
  }
  return "";
}

Tensor dequantized(const RealLayerWeights& weights) {
  return std::visit([](const auto& own) { return dequantized(own); }, weights.weights);
}

}  // namespace qsim
