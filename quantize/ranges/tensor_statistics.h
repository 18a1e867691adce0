// What calibration keeps of a tensor: its range, batch by batch, and then a histogram of its
// values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qsim::quantize {

inline constexpr int kHistogramBins = 2048;

// Of the values that are finite.
struct TensorStatistics {
  std::int64_t count = 0;
  std::int64_t not_finite = 0;
  std::int64_t zeros = 0;
  float min = 0;
  float max = 0;
  double sum = 0;
  double sum_squares = 0;
  // Of each call of add_range(): what a moving average is made of.
  std::vector<float> batch_min;
  std::vector<float> batch_max;
  // Equal bins from min to max; a value at a bin's upper edge counts in the next one, max in the
  // last. All in the first where min is max.
  std::vector<std::int64_t> bins;
};

// First every batch through add_range(), then every batch through add_values(): two passes, so that
// the bins fit the range. Both may be called with parts of a tensor. The result depends on the
// values and calls alone, not on the processor.
void add_range(std::span<const float> values, TensorStatistics& statistics);
void add_values(std::span<const float> values, TensorStatistics& statistics);

// Bin i is from bin_edge(i) to bin_edge(i + 1).
double bin_edge(const TensorStatistics& statistics, int index);

// The value that `percent` of the values are below: linear inside a bin; 0 gives min, 100 max.
// Needs the second pass; 0 for a tensor without a finite value.
float percentile(const TensorStatistics& statistics, double percent);

}  // namespace qsim::quantize
