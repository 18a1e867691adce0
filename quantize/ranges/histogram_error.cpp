#include "quantize/ranges/histogram_error.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

constexpr auto kBins = static_cast<std::size_t>(kHistogramBins);

// The integral of (u - nearest level)^2 over u, in steps; the levels are the integers lo..hi. From
// the edge between two levels on, it grows by r^3 / 3 of the distance r to the level, and by 1/12
// for each level passed.
double integrated_square(double steps, double lo, double hi) {
  // Rounds to the nearest integer without a call, so that the loop becomes vectors.
  constexpr double kRounder = 0x1.8p52;
  const double bounded = std::min(std::max(steps, lo), hi);
  const double level = (bounded + kRounder) - kRounder;
  const double distance = steps - level;
  return level / 12 + distance * distance * distance / 3;
}

double square(double value) { return value * value; }

}  // namespace

std::vector<std::int64_t> bins_without_zeros(const TensorStatistics& statistics) {
  QSIM_CHECK(statistics.bins.size() == kBins, "needs the histogram");
  std::vector<std::int64_t> bins = statistics.bins;
  if (statistics.zeros == 0) return bins;
  const double width = static_cast<double>(statistics.max) - statistics.min;
  const double bin = width > 0 ? -statistics.min * (kHistogramBins / width) : 0;
  bins[static_cast<std::size_t>(std::min<double>(bin, kHistogramBins - 1))] -= statistics.zeros;
  return bins;
}

HistogramError::HistogramError(const TensorStatistics& statistics) {
  const std::vector<std::int64_t> bins = bins_without_zeros(statistics);
  const auto all = static_cast<double>(std::max<std::int64_t>(statistics.count, 1));
  const double width = (static_cast<double>(statistics.max) - statistics.min) / kHistogramBins;
  if (width == 0) {
    edges_ = {statistics.min};
    density_ = {static_cast<double>(bins[0]) / all};
    return;
  }
  for (int edge = 0; edge <= kHistogramBins; ++edge) edges_.push_back(bin_edge(statistics, edge));
  for (const std::int64_t count : bins) {
    density_.push_back(static_cast<double>(count) / all / width);
  }
}

double HistogramError::mean_squared(const Quantization& quantization) const {
  const double scale = quantization.scale;
  const double lo = quantization.lo - quantization.zero_point;
  const double hi = quantization.hi - quantization.zero_point;
  if (edges_.size() == 1) {
    const double level = std::nearbyint(std::clamp(edges_[0] / scale, lo, hi));
    return density_[0] * square(edges_[0] - level * scale);
  }
  std::array<double, kBins + 1> integral;
  const double steps = 1 / scale;
  for (std::size_t i = 0; i <= kBins; ++i) {
    integral[i] = integrated_square(edges_[i] * steps, lo, hi);
  }
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sum = {};
  for (std::size_t i = 0; i < kBins; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sum[lane] += density_[i + lane] * (integral[i + lane + 1] - integral[i + lane]);
    }
  }
  double total = 0;
  for (const double part : sum) total += part;
  return std::max(total, 0.0) * scale * scale * scale;
}

}  // namespace qsim::quantize
