// The entropy rule: divergences by hand, and the search beside a loop over thresholds.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "quantize/ranges/clipping.h"
#include "quantize/ranges/histogram_error.h"

namespace qsim::quantize {
namespace {

const Clipping kByEntropy = {.rule = ClippingRule::kEntropy};

// Bins of width 1 from 0 to 2048; the value in a bin is at its centre.
TensorStatistics statistics_of(const std::vector<std::pair<int, int>>& counts_at) {
  TensorStatistics s;
  s.max = 2048;
  s.bins.assign(kHistogramBins, 0);
  for (const auto& [bin, count] : counts_at) {
    s.bins[static_cast<std::size_t>(bin)] = count;
    s.count += count;
  }
  return s;
}

TEST(Divergence, OfAHandWorkedHistogram) {
  // Levels 0 to 3 of 2 steps: bins 0 | 1, 2 | 3, 4 | 5, 6 are of levels 0, 1, 2, 3. (0.5 / 2 rounds
  // to 0, 1.5 / 2 to 1.)
  const Quantization q{.scale = 2, .zero_point = 0, .lo = 0, .hi = 3};
  // Level 1 has 3 and 1, which become 2 and 2; level 2 keeps its 4 in one bin.
  EXPECT_NEAR(divergence(statistics_of({{1, 3}, {2, 1}, {3, 4}}), q),
              3.0 / 8 * std::log(3.0 / 2) + 1.0 / 8 * std::log(1.0 / 2), 1e-12);
  // 2 at 100 are clipped: data 3, 1, 4 + 2 in the bin 6, of which 4 are quantized; of 10 and of 8.
  const double clipped = divergence(statistics_of({{1, 3}, {2, 1}, {6, 4}, {100, 2}}), q);
  EXPECT_NEAR(clipped,
              0.3 * std::log(0.3 / (2.0 / 8)) + 0.1 * std::log(0.1 / (2.0 / 8)) +
                  0.6 * std::log(0.6 / (4.0 / 8)),
              1e-12);
  // What is clipped comes to a level that has nothing.
  EXPECT_EQ(divergence(statistics_of({{1, 3}, {100, 2}}), q), HUGE_VAL);
  // Nothing is inside.
  EXPECT_EQ(divergence(statistics_of({{100, 2}}), q), HUGE_VAL);
}

TEST(Divergence, LeavesOutZeros) {
  TensorStatistics s = statistics_of({{0, 1000}, {1, 3}, {2, 1}});
  s.zeros = 1000;
  const Quantization q{.scale = 2, .zero_point = 0, .lo = 0, .hi = 3};
  EXPECT_NEAR(divergence(s, q), 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-12);
  s.bins[1] = s.bins[2] = 0;
  s.count = 1000;
  EXPECT_EQ(divergence(s, q), 0);
}

enum class Side { kBoth, kPositive, kMostlyNegative };

TensorStatistics random_statistics(double power, Side side) {
  Random random(23);
  std::vector<float> values(30000);
  for (float& value : values) {
    double sum = 0;
    for (int i = 0; i < 6; ++i) sum += static_cast<double>(random.uniform(-1000000, 1000000)) / 1e6;
    sum = std::copysign(std::pow(std::fabs(sum), power), sum);
    if (side == Side::kPositive) sum = std::max(sum, 0.0);
    if (side == Side::kMostlyNegative) sum = std::min(sum, 0.5);
    value = static_cast<float>(sum);
  }
  TensorStatistics statistics;
  add_range(values, statistics);
  add_values(values, statistics);
  return statistics;
}

TEST(Divergence, TheSearchFindsTheLeastOfItsThresholds) {
  for (const Side side : {Side::kBoth, Side::kPositive, Side::kMostlyNegative}) {
    for (const double power : {1.0, 3.0}) {
      for (const int bits : {4, 8}) {
        const TensorStatistics s = random_statistics(power, side);
        const Levels levels{.bits = bits, .is_unsigned = true, .reduced = false};
        const auto quantized = [&](const Clipping& clipping) {
          return activation_quantization(s, clipping, levels, Symmetry::kAffine, ScaleKind::kFloat);
        };
        double least = HUGE_VAL;
        for (int step = 1; step <= 512; ++step) {
          const double largest = std::max(-static_cast<double>(s.min), static_cast<double>(s.max));
          const auto most = static_cast<float>(largest * step / 512);
          const float lo = std::max(s.min, -most);
          const float hi = std::min(s.max, most);
          if ((static_cast<double>(hi) - lo) / (static_cast<double>(s.max) - s.min) * 2048 <
              (1 << bits)) {
            continue;
          }
          least = std::min(
              least, divergence(s, quantized({.rule = ClippingRule::kFixed, .fixed = {lo, hi}})));
        }
        EXPECT_EQ(divergence(s, quantized(kByEntropy)), least);
        EXPECT_LE(least, divergence(s, quantized({})));
        if (power == 3.0) {
          EXPECT_LT(quantized(kByEntropy).scale, 0.9 * quantized({}).scale);
        }
      }
    }
  }
}

TEST(Divergence, UniformDataKeepTheirRange) {
  std::vector<float> values;
  for (int i = -40960; i <= 40960; ++i) values.push_back(static_cast<float>(i));
  TensorStatistics s;
  add_range(values, s);
  add_values(values, s);
  const Levels levels{.bits = 8, .is_unsigned = false, .reduced = true};
  const Quantization q =
      activation_quantization(s, kByEntropy, levels, Symmetry::kSymmetric, ScaleKind::kFloat);
  EXPECT_NEAR(q.scale, 40960.0 / 127, 40960.0 / 127 * 0.02);
}

}  // namespace
}  // namespace qsim::quantize
