#include "quantize/merged_statistics.h"

#include <algorithm>

#include "core/base/error.h"
#include "quantize/ranges/histogram_error.h"

namespace qsim::quantize {
namespace {

void add_numbers(const TensorStatistics& part, TensorStatistics& sum) {
  const bool is_first = sum.count == 0;
  if (part.count > 0) {
    sum.min = is_first ? part.min : std::min(sum.min, part.min);
    sum.max = is_first ? part.max : std::max(sum.max, part.max);
  }
  sum.count += part.count;
  sum.not_finite += part.not_finite;
  sum.zeros += part.zeros;
  sum.sum += part.sum;
  sum.sum_squares += part.sum_squares;
}

void add_batches(const TensorStatistics& part, TensorStatistics& sum) {
  for (std::size_t i = 0; i < part.batch_min.size(); ++i) {
    if (i == sum.batch_min.size()) {
      sum.batch_min.push_back(part.batch_min[i]);
      sum.batch_max.push_back(part.batch_max[i]);
    }
    sum.batch_min[i] = std::min(sum.batch_min[i], part.batch_min[i]);
    sum.batch_max[i] = std::max(sum.batch_max[i], part.batch_max[i]);
  }
}

double width(const TensorStatistics& statistics) {
  return static_cast<double>(statistics.max) - static_cast<double>(statistics.min);
}

// As add_values() does.
std::int64_t& bin_of(double value, TensorStatistics& sum) {
  const double bin =
      width(sum) > 0 ? (value - static_cast<double>(sum.min)) * (kHistogramBins / width(sum)) : 0;
  return sum.bins[static_cast<std::size_t>(std::clamp(bin, 0.0, kHistogramBins - 1.0))];
}

void add_bins(const TensorStatistics& part, TensorStatistics& sum) {
  sum.bins.resize(kHistogramBins, 0);
  const std::vector<std::int64_t> bins = bins_without_zeros(part);
  for (int i = 0; i < kHistogramBins; ++i) {
    const double middle = (bin_edge(part, i) + bin_edge(part, i + 1)) / 2;
    bin_of(middle, sum) += bins[static_cast<std::size_t>(i)];
  }
  bin_of(0, sum) += part.zeros;
}

}  // namespace

TensorStatistics merged(const std::vector<const TensorStatistics*>& parts) {
  QSIM_CHECK(!parts.empty(), "no statistics to merge");
  if (parts.size() == 1) return *parts[0];
  TensorStatistics sum;
  for (const TensorStatistics* part : parts) {
    add_numbers(*part, sum);
    add_batches(*part, sum);
  }
  for (const TensorStatistics* part : parts) add_bins(*part, sum);
  return sum;
}

}  // namespace qsim::quantize
