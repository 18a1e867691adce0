#include <cmath>
#include <limits>
#include <numeric>

#include "quantize/ranges/histogram_error.h"

namespace qsim::quantize {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The histogram in a clipping range: bins first..end - 1.
struct ClippedBins {
  std::size_t first = 0;
  std::size_t end = 0;
  std::vector<std::int64_t> data;       // what is beyond an end counts in the last bin before it
  std::vector<std::int64_t> quantized;  // what is beyond an end is left out
};

// A bin as a whole is where its centre is: levels_of[bin] is that of the centre, not yet clamped.
std::vector<double> levels_of_bins(const TensorStatistics& statistics,
                                   const Quantization& quantization) {
  std::vector<double> levels;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double centre = (bin_edge(statistics, bin) + bin_edge(statistics, bin + 1)) / 2;
    levels.push_back(std::nearbyint(centre / quantization.scale) + quantization.zero_point);
  }
  return levels;
}

ClippedBins clipped(const std::vector<std::int64_t>& bins, const std::vector<double>& levels,
                    const Quantization& quantization) {
  ClippedBins result{.first = 0, .end = bins.size(), .data = bins, .quantized = bins};
  while (result.first < result.end && levels[result.first] < quantization.lo) ++result.first;
  while (result.end > result.first && levels[result.end - 1] > quantization.hi) --result.end;
  if (result.first == result.end) return result;
  const auto at = [&](std::size_t bin) {
    return result.quantized.begin() + static_cast<std::ptrdiff_t>(bin);
  };
  const std::int64_t below = std::accumulate(at(0), at(result.first), std::int64_t{0});
  const std::int64_t above =
      std::accumulate(at(result.end), result.quantized.end(), std::int64_t{0});
  result.data[result.first] += below;
  result.data[result.end - 1] += above;
  return result;
}

// The part of one level, whose bins are from..to - 1: what was quantized is spread evenly over the
// bins in which the data have something.
double divergence_of_level(const ClippedBins& bins, std::size_t from, std::size_t to, double all,
                           double inside) {
  std::int64_t of_level = 0;
  int used = 0;
  for (std::size_t bin = from; bin < to; ++bin) {
    of_level += bins.quantized[bin];
    used += bins.data[bin] > 0 ? 1 : 0;
  }
  if (used == 0) return 0;
  if (of_level == 0) return kInfinite;
  const double quantized = static_cast<double>(of_level) / inside / used;
  double sum = 0;
  for (std::size_t bin = from; bin < to; ++bin) {
    if (bins.data[bin] == 0) continue;
    const double share = static_cast<double>(bins.data[bin]) / all;
    sum += share * std::log(share / quantized);
  }
  return sum;
}

}  // namespace

double divergence(const TensorStatistics& statistics, const Quantization& quantization) {
  const std::vector<double> levels = levels_of_bins(statistics, quantization);
  const ClippedBins bins = clipped(bins_without_zeros(statistics), levels, quantization);
  const auto total = [&](const std::vector<std::int64_t>& counts) {
    std::int64_t sum = 0;
    for (std::size_t bin = bins.first; bin < bins.end; ++bin) sum += counts[bin];
    return static_cast<double>(sum);
  };
  const double all = total(bins.data);
  const double inside = total(bins.quantized);
  if (statistics.count == statistics.zeros) return 0;
  if (inside == 0) return kInfinite;
  double sum = 0;
  for (std::size_t from = bins.first; from < bins.end;) {
    std::size_t to = from;
    while (to < bins.end && levels[to] == levels[from]) ++to;
    sum += divergence_of_level(bins, from, to, all, inside);
    from = to;
  }
  return sum;
}

}  // namespace qsim::quantize
