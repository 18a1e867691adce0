#include "quantize/weights/weight_quantizer.h"

#include <algorithm>
#include <cmath>

#include "quantize/weights/channel_scale.h"
#include "quantize/weights/log2_weights.h"

namespace qsim::quantize {
namespace {

void check_finite(std::span<const float> weights, const std::string& where) {
  std::size_t bad = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i])) continue;
    if (bad++ == 0) first = i;
  }
  if (bad == 0) return;
  throw_bad_input(where + ": " + std::to_string(bad) + " of " + std::to_string(weights.size()) +
                  " weights are not finite, first weight " + std::to_string(first) + " (" +
                  std::to_string(weights[first]) + "); allowed are finite numbers");
}

void check_scheme(const WeightScheme& scheme, const std::string& where) {
  const ClippingRule rule = scheme.clipping.rule;
  if (rule == ClippingRule::kMovingAverage || rule == ClippingRule::kEntropy) {
    throw_bad_input(where + ": weights cannot be clipped by " + std::string(clipping_name(rule)) +
                    "; allowed are min_max, percentile, mse and fixed");
  }
  if (rule == ClippingRule::kPercentile) check_percentiles(scheme.clipping);
  const int bits = scheme.levels.bits;
  if (scheme.log2 && (bits < kLeastLog2Bits || bits > kMostLog2Bits)) {
    throw_bad_input(where + ": log2 weights of " + std::to_string(bits) + " bits; allowed are " +
                    std::to_string(kLeastLog2Bits) + " to " + std::to_string(kMostLog2Bits));
  }
}

bool is_binary(const WeightScheme& scheme) {
  return !scheme.log2 && scheme.levels.bits == 1 && !scheme.levels.is_unsigned;
}

// Of weights that are all 0. Levels that stand for 0 are the zero_point.
Quantization dead_channel(const WeightScheme& scheme, bool has_negatives,
                          const ExponentLimits& allowed) {
  const int exponent =
      scheme.kind == ScaleKind::kPowerOfTwo ? std::clamp(0, allowed.least, allowed.most) : 0;
  Quantization dead{.scale = std::ldexp(1.0F, exponent)};
  const bool is_shifted = scheme.symmetry != Symmetry::kAffine && has_negatives;
  if (!scheme.log2 && is_shifted) {
    dead = quantization_at(dead.scale, {-1, 1}, scheme.levels, scheme.symmetry);
  }
  return dead;
}

// As QuantizeLinear of ONNX: the division in float32, rounded half to even.
void round_to_levels(std::span<const float> weights, const Quantization& quantization,
                     std::span<std::int16_t> levels) {
  const auto lo = static_cast<float>(quantization.lo - quantization.zero_point);
  const auto hi = static_cast<float>(quantization.hi - quantization.zero_point);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float bounded = std::clamp(weights[i] / quantization.scale, lo, hi);
    levels[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(std::nearbyint(bounded)) +
                                          quantization.zero_point);
  }
}

// Fills the channel's levels; returns its scale and zero_point.
Quantization quantize_channel(std::span<const float> weights, const WeightScheme& scheme,
                              bool has_negatives, const ExponentLimits& allowed,
                              std::span<std::int16_t> levels) {
  if (std::all_of(weights.begin(), weights.end(), [](float weight) { return weight == 0; })) {
    const Quantization dead = dead_channel(scheme, has_negatives, allowed);
    std::fill(levels.begin(), levels.end(), static_cast<std::int16_t>(dead.zero_point));
    return dead;
  }
  if (scheme.log2) {
    const float scale = log2_scale(weights, scheme, allowed);
    const int most = (1 << (scheme.levels.bits - 1)) - 2;
    std::transform(weights.begin(), weights.end(), levels.begin(),
                   [&](float weight) { return log2_level(weight, scale, most); });
    return {.scale = scale};
  }
  if (is_binary(scheme)) {
    std::transform(weights.begin(), weights.end(), levels.begin(),
                   [](float weight) { return static_cast<std::int16_t>(weight < 0 ? -1 : 1); });
    return {.scale = binary_scale(weights, scheme.kind, allowed)};
  }
  const Quantization quantization = uniform_quantization(weights, scheme, has_negatives, allowed);
  round_to_levels(weights, quantization, levels);
  return quantization;
}

}  // namespace

QuantizedWeights quantize_weights(const Tensor& weights, const WeightScheme& scheme,
                                  const std::string& where, ExponentLimits allowed) {
  const std::span<const float> values = weights.as<float>();
  check_scheme(scheme, where);
  check_finite(values, where);
  QuantizedWeights result{
      .levels = Tensor(DType::kInt16, weights.shape), .scales = {}, .zero_points = {}};
  if (values.empty()) return result;
  const std::size_t channels =
      scheme.per_channel && !weights.shape.empty() ? static_cast<std::size_t>(weights.shape[0]) : 1;
  const std::size_t of_channel = values.size() / channels;
  const bool has_negatives =
      std::any_of(values.begin(), values.end(), [](float weight) { return weight < 0; });
  const std::span<std::int16_t> levels = result.levels.as<std::int16_t>();
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const std::size_t first = channel * of_channel;
    const Quantization quantization =
        quantize_channel(values.subspan(first, of_channel), scheme, has_negatives, allowed,
                         levels.subspan(first, of_channel));
    result.scales.push_back(quantization.scale);
    result.zero_points.push_back(quantization.zero_point);
  }
  return result;
}

bool fits_int8(const QuantizedWeights& weights) {
  const std::span<const std::int16_t> levels = weights.levels.as<std::int16_t>();
  if (levels.empty()) return true;
  const std::size_t of_channel = levels.size() / weights.scales.size();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::int32_t level = levels[i] - weights.zero_points[i / of_channel];
    if (level < INT8_MIN || level > INT8_MAX) return false;
  }
  return true;
}

Tensor dequantize(const QuantizedWeights& weights) {
  Tensor real(DType::kFloat32, weights.levels.shape);
  const std::span<const std::int16_t> levels = weights.levels.as<std::int16_t>();
  const std::span<float> values = real.as<float>();
  if (levels.empty()) return real;
  const std::size_t of_channel = levels.size() / weights.scales.size();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::size_t channel = i / of_channel;
    values[i] =
        static_cast<float>(levels[i] - weights.zero_points[channel]) * weights.scales[channel];
  }
  return real;
}

}  // namespace qsim::quantize
