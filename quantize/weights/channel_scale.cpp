#include "quantize/weights/channel_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "quantize/ranges/range_search.h"

namespace qsim::quantize {
namespace {

Range range_of(std::span<const float> weights, const Clipping& clipping) {
  if (clipping.rule == ClippingRule::kFixed) return clipping.fixed;
  if (clipping.rule == ClippingRule::kPercentile) {
    std::vector<float> sorted(weights.begin(), weights.end());
    std::sort(sorted.begin(), sorted.end());
    return {exact_percentile(sorted, clipping.percentile_low),
            exact_percentile(sorted, clipping.percentile_high)};
  }
  const auto [least, largest] = std::minmax_element(weights.begin(), weights.end());
  return {*least, *largest};
}

// The power of two nearest to `scale` of those allowed.
float nearest_power(double scale, const ExponentLimits& allowed) {
  const int above = covering_exponent(scale);
  const bool below_is_nearer = scale - std::ldexp(1.0, above - 1) < std::ldexp(1.0, above) - scale;
  return std::ldexp(1.0F,
                    std::clamp(below_is_nearer ? above - 1 : above, allowed.least, allowed.most));
}

}  // namespace

Quantization uniform_quantization(std::span<const float> weights, const WeightScheme& scheme,
                                  bool has_negatives, const ExponentLimits& allowed) {
  Range range = range_of(weights, scheme.clipping);
  if (scheme.symmetry != Symmetry::kAffine && has_negatives) {
    const float largest = std::max(std::fabs(range.lo), std::fabs(range.hi));
    range = {-largest, largest};
  }
  if (scheme.clipping.rule == ClippingRule::kMse) {
    return least_error(
        {.range = range,
         .levels = scheme.levels,
         .symmetry = scheme.symmetry,
         .kind = scheme.kind,
         .exponents = allowed},
        [&](const Quantization& candidate) { return mean_squared_error(weights, candidate); });
  }
  const double covering = covering_scale(range, scheme.levels, scheme.symmetry);
  const auto scale = [&] {
    if (covering == 0) return 1.0F;  // percentiles of weights that are nearly all 0
    if (scheme.kind == ScaleKind::kFloat) return float_scale(covering);
    if (scheme.kind == ScaleKind::kDyadic) return dyadic_scale(covering);
    return std::ldexp(1.0F, std::clamp(covering_exponent(covering), allowed.least, allowed.most));
  };
  return quantization_at(scale(), range, scheme.levels, scheme.symmetry);
}

float binary_scale(std::span<const float> weights, ScaleKind kind, const ExponentLimits& allowed) {
  double sum = 0;
  for (const float weight : weights) sum += std::fabs(static_cast<double>(weight));
  const double mean = sum / static_cast<double>(weights.size());
  if (kind == ScaleKind::kFloat) return float_scale(mean);
  if (kind == ScaleKind::kDyadic) return dyadic_scale(mean);
  return nearest_power(mean, allowed);
}

double mean_squared_error(std::span<const float> weights, const Quantization& quantization) {
  constexpr std::size_t kBlock = 1024;
  constexpr std::size_t kLanes = 16;
  constexpr float kRounder =
      0x1.8p23F;  // rounds to an integer without a call: loops become vectors
  const auto lo = static_cast<float>(quantization.lo - quantization.zero_point);
  const auto hi = static_cast<float>(quantization.hi - quantization.zero_point);
  const float steps = 1 / quantization.scale;
  const auto squared = [&](float weight) {
    const float real = weight * steps;
    const float bounded = real < lo ? lo : real > hi ? hi : real;
    const float distance = real - ((bounded + kRounder) - kRounder);
    return distance * distance;
  };
  double sum = 0;
  for (std::size_t at = 0; at < weights.size();) {
    const std::size_t end = std::min(at + kBlock, weights.size());
    std::array<float, kLanes> lanes = {};
    for (; at + kLanes <= end; at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += squared(weights[at + lane]);
    }
    for (; at < end; ++at) lanes[0] += squared(weights[at]);
    for (const float lane : lanes) sum += lane;
  }
  const double scale = quantization.scale;
  return sum / static_cast<double>(weights.size()) * scale * scale;
}

float exact_percentile(std::span<const float> sorted, double percent) {
  const double at = static_cast<double>(sorted.size() - 1) * percent / 100;
  const auto below = std::min(static_cast<std::size_t>(at), sorted.size() - 1);
  const auto above = std::min(below + 1, sorted.size() - 1);
  const double lo = sorted[below];
  return static_cast<float>(lo + (sorted[above] - lo) * (at - static_cast<double>(below)));
}

}  // namespace qsim::quantize
