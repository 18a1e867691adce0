#include "quantize/ranges/tensor_statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

// A block stays in the L1 cache while short loops, each of which the compiler makes vectors of, go
// over it.
constexpr std::size_t kBlock = 1024;
constexpr std::uint32_t kMagnitude = 0x7FFFFFFF;
constexpr std::uint32_t kInfinity = 0x7F800000;

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & kMagnitude; }

bool all_finite(std::span<const float> block) {
  std::uint32_t bad = 0;
  for (const float value : block) bad |= magnitude(value) >= kInfinity ? 1U : 0U;
  return bad == 0;
}

// The finite values of a block, at the front of `kept`.
std::span<const float> finite_values(std::span<const float> block,
                                     std::array<float, kBlock>& kept) {
  if (all_finite(block)) return block;
  std::size_t count = 0;
  for (const float value : block) {
    if (magnitude(value) < kInfinity) kept[count++] = value;
  }
  return {kept.data(), count};
}

// Calls add(finite values) for every block.
template <typename Add>
void for_each_block(std::span<const float> values, const Add& add) {
  std::array<float, kBlock> kept;
  for (std::size_t at = 0; at < values.size(); at += kBlock) {
    const std::span<const float> block = values.subspan(at, std::min(kBlock, values.size() - at));
    add(finite_values(block, kept));
  }
}

// Sums in a fixed order: lane l has the values l, l + 8, ... So vectors of any width give the same
// bits. (The square of a float32 is exact in double, so a fused multiply-add changes nothing.)
struct Sums {
  static constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sum = {};
  std::array<double, kLanes> squares = {};

  void add(std::span<const float> block) {
    std::size_t at = 0;
    for (; at + kLanes <= block.size(); at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double value = block[at + lane];
        sum[lane] += value;
        squares[lane] += value * value;
      }
    }
    for (; at < block.size(); ++at) {
      const double value = block[at];
      sum[at % kLanes] += value;
      squares[at % kLanes] += value * value;
    }
  }
};

struct Ends {
  static constexpr std::size_t kLanes = 16;
  float lo;
  float hi;

  void add(std::span<const float> block) {
    std::array<float, kLanes> least;
    std::array<float, kLanes> largest;
    least.fill(lo);
    largest.fill(hi);
    std::size_t at = 0;
    for (; at + kLanes <= block.size(); at += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float value = block[at + lane];
        least[lane] = value < least[lane] ? value : least[lane];
        largest[lane] = value > largest[lane] ? value : largest[lane];
      }
    }
    lo = *std::min_element(least.begin(), least.end());
    hi = *std::max_element(largest.begin(), largest.end());
    for (; at < block.size(); ++at) {
      lo = std::min(lo, block[at]);
      hi = std::max(hi, block[at]);
    }
  }
};

std::int64_t count_zeros(std::span<const float> block) {
  std::uint32_t zeros = 0;
  for (const float value : block) zeros += magnitude(value) == 0 ? 1U : 0U;
  return zeros;
}

// Counts of one call. Consecutive values count in different tables: equal bins one after the other
// (the zeros of a ReLU) would wait for each other's store.
class PartialBins {
 public:
  PartialBins(double lo, double bins_per_unit) : lo_(lo), bins_per_unit_(bins_per_unit) {}

  void add(std::span<const float> block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const double bin = (static_cast<double>(block[i]) - lo_) * bins_per_unit_;
      const double bounded = bin < 0 ? 0 : bin;
      index_[i] =
          static_cast<std::int32_t>(bounded < kHistogramBins ? bounded : kHistogramBins - 1);
    }
    std::size_t at = 0;
    for (; at + kTables <= block.size(); at += kTables) {
      for (std::size_t table = 0; table < kTables; ++table) {
        ++tables_[table][static_cast<std::size_t>(index_[at + table])];
      }
    }
    for (; at < block.size(); ++at) ++tables_[0][static_cast<std::size_t>(index_[at])];
  }

  void add_to(std::vector<std::int64_t>& bins) const {
    for (const auto& table : tables_) {
      for (std::size_t bin = 0; bin < bins.size(); ++bin) bins[bin] += table[bin];
    }
  }

 private:
  static constexpr std::size_t kTables = 4;
  double lo_;
  double bins_per_unit_;
  std::array<std::int32_t, kBlock> index_;
  std::array<std::array<std::uint32_t, kHistogramBins>, kTables> tables_ = {};
};

}  // namespace

void add_range(std::span<const float> values, TensorStatistics& statistics) {
  Sums sums;
  Ends batch{.lo = HUGE_VALF, .hi = -HUGE_VALF};
  std::int64_t count = 0;
  for_each_block(values, [&](std::span<const float> block) {
    count += static_cast<std::int64_t>(block.size());
    statistics.zeros += count_zeros(block);
    batch.add(block);
    sums.add(block);
  });
  statistics.not_finite += static_cast<std::int64_t>(values.size()) - count;
  if (count == 0) return;
  for (std::size_t lane = 0; lane < Sums::kLanes; ++lane) {
    statistics.sum += sums.sum[lane];
    statistics.sum_squares += sums.squares[lane];
  }
  const bool is_first = statistics.count == 0;
  statistics.min = is_first ? batch.lo : std::min(statistics.min, batch.lo);
  statistics.max = is_first ? batch.hi : std::max(statistics.max, batch.hi);
  statistics.count += count;
  statistics.batch_min.push_back(batch.lo);
  statistics.batch_max.push_back(batch.hi);
}

void add_values(std::span<const float> values, TensorStatistics& statistics) {
  statistics.bins.resize(kHistogramBins);
  const double width = static_cast<double>(statistics.max) - statistics.min;
  // A call's tables count up to 2^32 values.
  constexpr std::size_t kMostValues = std::size_t{1} << 31;
  for (std::size_t at = 0; at < values.size(); at += kMostValues) {
    PartialBins partial(statistics.min, width > 0 ? kHistogramBins / width : 0);
    for_each_block(values.subspan(at, std::min(kMostValues, values.size() - at)),
                   [&](std::span<const float> block) { partial.add(block); });
    partial.add_to(statistics.bins);
  }
}

double bin_edge(const TensorStatistics& statistics, int index) {
  const double width = static_cast<double>(statistics.max) - statistics.min;
  return statistics.min + width * index / kHistogramBins;
}

float percentile(const TensorStatistics& statistics, double percent) {
  if (statistics.count == 0 || percent <= 0) return statistics.min;
  if (percent >= 100) return statistics.max;
  QSIM_CHECK(!statistics.bins.empty(), "a percentile needs the histogram");
  const double below = static_cast<double>(statistics.count) * percent / 100;
  double before = 0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const auto count = static_cast<double>(statistics.bins[static_cast<std::size_t>(bin)]);
    if (before + count >= below && count > 0) {
      const double lo = bin_edge(statistics, bin);
      const double hi = bin_edge(statistics, bin + 1);
      return static_cast<float>(lo + (hi - lo) * ((below - before) / count));
    }
    before += count;
  }
  return statistics.max;
}

}  // namespace qsim::quantize
