#include "quantize/ranges/clipping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "quantize/ranges/histogram_error.h"
#include "quantize/ranges/range_search.h"

namespace qsim::quantize {
namespace {

Range moving_average(const TensorStatistics& statistics, double constant) {
  if (!(constant > 0 && constant <= 1)) {
    throw_bad_input("the constant of a moving average is " + std::to_string(constant) +
                    "; allowed is more than 0, at most 1");
  }
  if (statistics.batch_min.empty()) return {};
  double lo = statistics.batch_min[0];
  double hi = statistics.batch_max[0];
  for (std::size_t batch = 1; batch < statistics.batch_min.size(); ++batch) {
    lo += constant * (statistics.batch_min[batch] - lo);
    hi += constant * (statistics.batch_max[batch] - hi);
  }
  return {static_cast<float>(lo), static_cast<float>(hi)};
}

Range percentiles(const TensorStatistics& statistics, const Clipping& clipping) {
  check_percentiles(clipping);
  return {percentile(statistics, clipping.percentile_low),
          percentile(statistics, clipping.percentile_high)};
}

Quantization least_mean_squared_error(const TensorStatistics& statistics,
                                      const SearchSpace& space) {
  const HistogramError error(statistics);
  return least_error(space,
                     [&](const Quantization& candidate) { return error.mean_squared(candidate); });
}

// Clips at the same distance from 0 on both sides, at every fourth bin of the longer one. No range
// has fewer bins than there are levels.
Quantization least_divergence(const TensorStatistics& statistics, const SearchSpace& space) {
  constexpr int kBinsPerStep = 4;
  constexpr int kSteps = kHistogramBins / kBinsPerStep;
  const Range& range = space.range;
  const float largest = std::max(-range.lo, range.hi);
  const double bin = (static_cast<double>(statistics.max) - statistics.min) / kHistogramBins;
  const auto quantization = [&](const Range& clipped) {
    return quantization_of(clipped, space.levels, space.symmetry, space.kind);
  };
  Quantization best = quantization(range);
  double least = divergence(statistics, best);
  Quantization last = best;
  for (int step = kSteps - 1; step > 0; --step) {
    const auto most = static_cast<float>(static_cast<double>(largest) * step / kSteps);
    const Range clipped = {std::max(range.lo, -most), std::min(range.hi, most)};
    const double bins = (static_cast<double>(clipped.hi) - clipped.lo) / bin;
    if (bins < space.levels.hi() - space.levels.lo() + 1) break;
    const Quantization candidate = quantization(clipped);
    if (candidate == last) continue;  // as most are, of power-of-two scales
    last = candidate;
    const double here = divergence(statistics, candidate);
    if (here < least) {
      least = here;
      best = candidate;
    }
  }
  return best;
}

Range range_by(const TensorStatistics& statistics, const Clipping& clipping) {
  switch (clipping.rule) {
    case ClippingRule::kMovingAverage:
      return moving_average(statistics, clipping.moving_average);
    case ClippingRule::kPercentile:
      return percentiles(statistics, clipping);
    case ClippingRule::kFixed:
      return clipping.fixed;
    default:
      return {statistics.min, statistics.max};
  }
}

}  // namespace

std::string_view clipping_name(ClippingRule rule) {
  switch (rule) {
    case ClippingRule::kMinMax:
      return "min_max";
    case ClippingRule::kMovingAverage:
      return "moving_average";
    case ClippingRule::kPercentile:
      return "percentile";
    case ClippingRule::kMse:
      return "mse";
    case ClippingRule::kEntropy:
      return "entropy";
    case ClippingRule::kFixed:
      return "fixed";
  }
  return "?";
}

void check_percentiles(const Clipping& clipping) {
  const double low = clipping.percentile_low;
  const double high = clipping.percentile_high;
  if (low >= 0 && low < high && high <= 100) return;
  throw_bad_input("percentiles " + std::to_string(low) + " and " + std::to_string(high) +
                  "; allowed are two of 0 to 100, the lower one first");
}

Quantization activation_quantization(const TensorStatistics& statistics, const Clipping& clipping,
                                     const Levels& levels, Symmetry symmetry, ScaleKind kind) {
  if (levels.bits == 1 && !levels.is_unsigned) {
    throw_bad_input(
        "activations of one signed bit have no 0; allowed are one unsigned bit, or 2 to 8");
  }
  const Range range = range_by(statistics, clipping);
  // Scales of dyadic activations are powers of two; m * 2^n is for weights.
  const ScaleKind scales = kind == ScaleKind::kFloat ? kind : ScaleKind::kPowerOfTwo;
  const SearchSpace space{
      .range = range, .levels = levels, .symmetry = symmetry, .kind = scales, .exponents = {}};
  const bool one_value = statistics.min == statistics.max;
  if (clipping.rule == ClippingRule::kMse && !one_value) {
    return least_mean_squared_error(statistics, space);
  }
  if (clipping.rule == ClippingRule::kEntropy && !one_value) {
    return least_divergence(statistics, space);
  }
  return quantization_of(range, levels, symmetry, scales);
}

double mean_squared_error(const TensorStatistics& statistics, const Quantization& quantization) {
  return HistogramError(statistics).mean_squared(quantization);
}

}  // namespace qsim::quantize
