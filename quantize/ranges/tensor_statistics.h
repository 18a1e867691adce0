// What calibration keeps of a tensor: its range, batch by batch, and then a histogram of its values.
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
  // Equal bins from min to max; a value at a bin's upper edge counts in the next one.
  std::vector<std::int64_t> bins;
};

// First every batch through add_range(), then every batch through add_values(): two passes, so that
// the bins fit the range. Both may be called with parts of a tensor.
void add_range(std::span<const float> values, TensorStatistics& statistics);
void add_values(std::span<const float> values, TensorStatistics& statistics);

}  // namespace qsim::quantize
