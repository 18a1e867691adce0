#include "quantize/pool_ties.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace qsim::quantize {
namespace {

constexpr int kTriedScales = 64;
constexpr float kStep = 0x1p-10F;  // moves a mean of 128 levels by an eighth of one

// How many positions a window may have.
std::set<std::int64_t> counts_of(const Window& window, bool varies) {
  if (!varies) return {window.kernel_h * window.kernel_w};
  std::set<std::int64_t> counts;
  for (std::int64_t rows = 1; rows <= window.kernel_h; ++rows) {
    for (std::int64_t columns = 1; columns <= window.kernel_w; ++columns) {
      counts.insert(rows * columns);
    }
  }
  return counts;
}

// Of the means of `count` positions.
double distance_of(const Quantization& input, const Quantization& output, std::int64_t count) {
  const double ratio = static_cast<double>(input.scale) /
                       (static_cast<double>(output.scale) * static_cast<double>(count));
  // Sums whose means are within a level of the output's, which saturates beyond.
  const auto least =
      static_cast<std::int64_t>(std::max(static_cast<double>((input.lo - input.zero_point) * count),
                                         std::floor((output.lo - output.zero_point - 1) / ratio)));
  const auto most =
      static_cast<std::int64_t>(std::min(static_cast<double>((input.hi - input.zero_point) * count),
                                         std::ceil((output.hi - output.zero_point + 1) / ratio)));
  double nearest = 0.5;
  for (std::int64_t sum = least; sum <= most; ++sum) {
    const double mean = static_cast<double>(sum) * ratio;
    nearest = std::min(nearest, std::abs(mean - std::floor(mean) - 0.5));
  }
  return nearest;
}

// What the float32 operations of a mean may be off: each of the window's products and sums, the
// division and the quotient by half a unit of numbers up to `most` levels, and the last addition,
// of the zero_point, by half a unit of numbers below 256.
double largest_error(const Quantization& input, const Quantization& output, const Window& window) {
  const auto roundings = static_cast<double>(2 * window.kernel_h * window.kernel_w + 2);
  const double most = std::max(input.hi - input.zero_point, input.zero_point - input.lo) *
                      static_cast<double>(input.scale) / static_cast<double>(output.scale);
  return std::ldexp(roundings * most, -24) + 0x1p-17;
}

}  // namespace

double distance_from_ties(const Quantization& input, const Quantization& output,
                          const Window& window, bool varies) {
  double nearest = 0.5;
  for (const std::int64_t count : counts_of(window, varies)) {
    nearest = std::min(nearest, distance_of(input, output, count));
  }
  return nearest;
}

float scale_without_ties(const Quantization& input, const Quantization& output,
                         const Window& window, bool varies) {
  Quantization candidate = output;
  float best = output.scale;
  double farthest = -1;
  for (int i = 0; i < kTriedScales; ++i) {
    candidate.scale = output.scale * (1 + static_cast<float>(i) * kStep);
    const double distance = distance_from_ties(input, candidate, window, varies);
    if (distance > farthest) {
      farthest = distance;
      best = candidate.scale;
    }
    if (distance > largest_error(input, candidate, window)) break;
  }
  return best;
}

std::int32_t even_zero_point(const Quantization& output, float least, float most) {
  const std::int32_t z = output.zero_point;
  if (z % 2 == 0) return z;
  if (z == output.lo || z == output.hi) return z == output.lo ? z + 1 : z - 1;
  const auto scale = static_cast<double>(output.scale);
  const double free_below = static_cast<double>(least) - (output.lo - z) * scale;
  const double free_above = (output.hi - z) * scale - static_cast<double>(most);
  return free_above >= free_below ? z + 1 : z - 1;
}

Quantization with_even_middle(const Quantization& output) {
  if (output.zero_point % 2 == 0) return output;
  const std::int32_t last = output.lo < 0 ? 127 : 255;
  const std::int32_t moved = output.hi < last ? 1 : 0;
  return {output.scale, output.zero_point + 1, output.lo + moved, output.hi + moved};
}

}  // namespace qsim::quantize
