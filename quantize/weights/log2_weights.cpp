#include "quantize/weights/log2_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "quantize/weights/channel_scale.h"

namespace qsim::quantize {
namespace {

int most_exponent(const Levels& levels) { return (1 << (levels.bits - 1)) - 2; }

// Squared distance in units of the scale. Of 2 u^2 the exponent is the largest integer that is not
// above log2(2 u^2), and half of that, rounded down, is the integer nearest to log2(u).
float squared_distance(float ratio, int most) {
  const float doubled = 2 * ratio * ratio;
  const int log2 = static_cast<int>(std::bit_cast<std::uint32_t>(doubled) >> 23) - 127;
  const int exponent = std::min(log2 >> 1, most);
  const auto level = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  const float distance = ratio - (exponent < 0 ? 0.0F : level);
  return distance * distance;
}

double squared_error(std::span<const float> weights, float scale, int most) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lanes = {};
  std::size_t at = 0;
  for (; at + kLanes <= weights.size(); at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += squared_distance(std::fabs(weights[at + lane]) / scale, most);
    }
  }
  for (; at < weights.size(); ++at)
    lanes[0] += squared_distance(std::fabs(weights[at]) / scale, most);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum * scale * scale;
}

float rounded(double scale, ScaleKind kind, const ExponentLimits& allowed) {
  if (kind == ScaleKind::kFloat) return float_scale(scale);
  if (kind == ScaleKind::kDyadic) return dyadic_scale(scale);
  const auto exponent = static_cast<int>(std::nearbyint(std::log2(scale)));
  return std::ldexp(1.0F, std::clamp(exponent, allowed.least, allowed.most));
}

float largest_magnitude(std::span<const float> weights, const Clipping& clipping) {
  if (clipping.rule == ClippingRule::kFixed) {
    return std::max(std::fabs(clipping.fixed.lo), std::fabs(clipping.fixed.hi));
  }
  std::vector<float> sorted(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end());
  const bool all = clipping.rule != ClippingRule::kPercentile;
  return std::max(std::fabs(exact_percentile(sorted, all ? 0 : clipping.percentile_low)),
                  std::fabs(exact_percentile(sorted, all ? 100 : clipping.percentile_high)));
}

// The best of `centre` 2^(at step), at = -below..above; a tie goes to the one found first.
double best_of(double centre, double step, int below, int above,
               const std::function<double(double)>& error) {
  double best = centre;
  double least = error(centre);
  for (int at = -below; at <= above; ++at) {
    const double candidate = centre * std::exp2(at * step);
    const double here = error(candidate);
    if (here < least) {
      least = here;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

std::int16_t log2_level(float weight, float scale, int most) {
  const float rounded_ratio = std::fabs(weight) / scale;
  const double ratio = std::min(rounded_ratio, std::numeric_limits<float>::max());
  int above = 0;  // 2 ratio^2 is in 2^(above - 1)..2^above
  if (std::frexp(2 * ratio * ratio, &above) == 0 || above < 1) return 0;
  const int exponent = std::min((above - 1) / 2, most);
  const int level = 1 << exponent;
  return static_cast<std::int16_t>(weight < 0 ? -level : level);
}

float log2_scale(std::span<const float> weights, const WeightScheme& scheme,
                 const ExponentLimits& allowed) {
  const int most = most_exponent(scheme.levels);
  const double largest = largest_magnitude(weights, scheme.clipping);
  if (largest == 0) return rounded(1, scheme.kind, allowed);
  double scale = std::ldexp(largest, -most);
  if (scheme.clipping.rule != ClippingRule::kMse) return rounded(scale, scheme.kind, allowed);
  const auto error = [&](double candidate) {
    return squared_error(weights, rounded(candidate, scheme.kind, allowed), most);
  };
  if (scheme.kind == ScaleKind::kPowerOfTwo) {
    return rounded(best_of(scale, 1, 4, 1, error), scheme.kind, allowed);
  }
  constexpr int kSteps = 32;  // of an octave
  constexpr int kFiner = 8;
  scale = best_of(scale, 1.0 / kSteps, 4 * kSteps, kSteps, error);
  scale = best_of(scale, 1.0 / kSteps / kFiner, kFiner, kFiner, error);
  return rounded(scale, scheme.kind, allowed);
}

}  // namespace qsim::quantize
