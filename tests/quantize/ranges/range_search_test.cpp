// The searches beside loops that try everything.
#include "quantize/ranges/range_search.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "quantize/ranges/clipping.h"
#include "quantize/ranges/histogram_error.h"

namespace qsim::quantize {
namespace {

const Levels kU8 = {.bits = 8, .is_unsigned = true, .reduced = false};
const Levels kU4 = {.bits = 4, .is_unsigned = true, .reduced = false};
const Levels kS4 = {.bits = 4, .is_unsigned = false, .reduced = true};
const Levels kS8 = {.bits = 8, .is_unsigned = false, .reduced = false};
const Clipping kByMse = {.rule = ClippingRule::kMse};
const Clipping kByEntropy = {.rule = ClippingRule::kEntropy};

double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

double bell(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(random);
  return sum;
}

enum class Data { kBell, kHeavyTails, kAfterRelu, kSkewed };
constexpr std::array kData = {Data::kBell, Data::kHeavyTails, Data::kAfterRelu, Data::kSkewed};

float draw(Data data, Random& random) {
  const double value = bell(random);
  switch (data) {
    case Data::kBell:
      return static_cast<float>(value);
    case Data::kHeavyTails:
      return static_cast<float>(std::pow(value, 5));
    case Data::kAfterRelu:
      return static_cast<float>(std::max(value, 0.0));
    case Data::kSkewed:
      return static_cast<float>(std::exp(value) - 0.5);
  }
  return 0;
}

TensorStatistics statistics_of(const std::vector<float>& values) {
  TensorStatistics statistics;
  add_range(values, statistics);
  add_values(values, statistics);
  return statistics;
}

TensorStatistics random_statistics(Data data, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(20000);
  for (float& value : values) value = draw(data, random);
  return statistics_of(values);
}

double distance_squared(double value, const Quantization& q) {
  const double level =
      std::clamp<double>(std::nearbyint(value / q.scale + q.zero_point), q.lo, q.hi);
  const double distance = value - (level - q.zero_point) * q.scale;
  return distance * distance;
}

// The definition of mean_squared_error() by many points of each bin.
double slow_error(const TensorStatistics& s, const Quantization& q) {
  constexpr int kPoints = 40;
  double sum = 0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double lo = bin_edge(s, bin);
    const double width = bin_edge(s, bin + 1) - lo;
    auto count = static_cast<double>(s.bins[static_cast<std::size_t>(bin)]);
    const bool last = bin == kHistogramBins - 1;
    if (lo <= 0 && (0 < lo + width || last)) count -= static_cast<double>(s.zeros);
    for (int point = 0; point < kPoints; ++point) {
      sum += count / kPoints * distance_squared(lo + width * (point + 0.5) / kPoints, q);
    }
  }
  return sum / static_cast<double>(s.count);
}

TEST(RangeSearch, TheErrorIsThatOfValuesSpreadOverTheirBins) {
  for (const Data data : kData) {
    const TensorStatistics s = random_statistics(data, 7);
    for (const Levels& levels : {kU8, kU4, kS4}) {
      for (const double shrink : {1.0, 0.3, 0.02}) {
        const Range range{static_cast<float>(s.min * shrink), static_cast<float>(s.max * shrink)};
        const Quantization q = quantization_of(range, levels, Symmetry::kAffine, ScaleKind::kFloat);
        const double slow = slow_error(s, q);
        EXPECT_NEAR(mean_squared_error(s, q), slow, 2e-3 * slow) << shrink;
      }
    }
  }
}

TEST(RangeSearch, TheErrorOfAHandWorkedHistogram) {
  // Two zeros, 4 in 0..1024 spread by hand over four bins of width 1, levels 0, 1, 2, 3.
  TensorStatistics s;
  s.count = 6;
  s.zeros = 2;
  s.min = 0;
  s.max = 2048;
  s.bins.assign(kHistogramBins, 0);
  s.bins[0] = 3;  // two zeros and a value uniform in 0..1: error 1/12
  s.bins[1] = 1;  // 1..2: 1/12
  s.bins[3] = 1;  // 3..4, all go to 3: 1/3
  s.bins[5] = 1;  // 5..6, to 3: (27 - 8) / 3
  const Quantization q{.scale = 1, .zero_point = 0, .lo = 0, .hi = 3};
  EXPECT_NEAR(mean_squared_error(s, q), (1.0 / 12 + 1.0 / 12 + 1.0 / 3 + 19.0 / 3) / 6, 1e-12);
}

// All exponents and all zero_points, also those that the search leaves out.
double least_of_powers(const TensorStatistics& s, const Levels& levels, Symmetry symmetry) {
  const HistogramError error(s);
  double least = HUGE_VAL;
  for (int exponent = -18; exponent <= 12; ++exponent) {
    Quantization q = quantization_at(std::ldexp(1.0F, exponent), {s.min, s.max}, levels, symmetry);
    if (symmetry != Symmetry::kAffine) {
      least = std::min(least, error.mean_squared(q));
      continue;
    }
    for (q.zero_point = levels.lo(); q.zero_point <= levels.hi(); ++q.zero_point) {
      least = std::min(least, error.mean_squared(q));
    }
  }
  return least;
}

TEST(RangeSearch, PowersOfTwoAreTheBestOfAll) {
  for (const Data data : kData) {
    const TensorStatistics s = random_statistics(data, 11);
    for (const Levels& levels : {kU8, kS8, kU4, kS4}) {
      for (const Symmetry symmetry : {Symmetry::kAffine, Symmetry::kSymmetric}) {
        const Quantization q =
            activation_quantization(s, kByMse, levels, symmetry, ScaleKind::kPowerOfTwo);
        int exponent = 0;
        EXPECT_EQ(std::frexp(q.scale, &exponent), 0.5);
        const double least = least_of_powers(s, levels, symmetry);
        EXPECT_NEAR(mean_squared_error(s, q), least, 1e-8 * least);
        EXPECT_EQ(q, activation_quantization(s, kByMse, levels, symmetry, ScaleKind::kDyadic));
      }
    }
  }
}

// Scales a two-hundredth of an octave apart, every zero_point.
double least_of_scales(const TensorStatistics& s, const Levels& levels, Symmetry symmetry) {
  const HistogramError error(s);
  const double covering = covering_scale({s.min, s.max}, levels, symmetry);
  double least = HUGE_VAL;
  for (int step = -60; step < 1800; ++step) {
    const float scale = float_scale(covering * std::exp2(-step / 200.0));
    Quantization q = quantization_at(scale, {s.min, s.max}, levels, symmetry);
    if (symmetry != Symmetry::kAffine) {
      least = std::min(least, error.mean_squared(q));
      continue;
    }
    for (q.zero_point = levels.lo(); q.zero_point <= levels.hi(); ++q.zero_point) {
      least = std::min(least, error.mean_squared(q));
    }
  }
  return least;
}

TEST(RangeSearch, FloatScalesAreWithinOnePercentOfTheBest) {
  for (const Data data : kData) {
    const TensorStatistics s = random_statistics(data, 13);
    for (const Levels& levels : {kU4, kS4}) {
      for (const Symmetry symmetry : {Symmetry::kAffine, Symmetry::kSymmetric}) {
        const Quantization q =
            activation_quantization(s, kByMse, levels, symmetry, ScaleKind::kFloat);
        EXPECT_LE(mean_squared_error(s, q), 1.01 * least_of_scales(s, levels, symmetry));
      }
    }
    const Quantization q =
        activation_quantization(s, kByMse, kS8, Symmetry::kSymmetric, ScaleKind::kFloat);
    EXPECT_LE(mean_squared_error(s, q), 1.01 * least_of_scales(s, kS8, Symmetry::kSymmetric));
  }
}

TEST(RangeSearch, IsNeverWorseThanTheWholeRangeAndBetterWithTails) {
  for (const Data data : kData) {
    const TensorStatistics s = random_statistics(data, 17);
    for (const Levels& levels : {kU8, kU4, kS4}) {
      for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo}) {
        const auto error = [&](const Clipping& clipping) {
          return mean_squared_error(
              s, activation_quantization(s, clipping, levels, Symmetry::kAffine, kind));
        };
        EXPECT_LE(error(kByMse), error({}));
        EXPECT_LE(error(kByMse), error(kByEntropy));
        if (data == Data::kHeavyTails && levels.bits == 4) {
          EXPECT_LT(error(kByMse), 0.8 * error({}));
        }
      }
    }
  }
}

TEST(RangeSearch, OneValueKeepsItsRange) {
  for (const float value : {0.0F, 5.0F, -3.0F, 0x1p-149F, 3.4e38F}) {
    const TensorStatistics s = statistics_of(std::vector<float>(100, value));
    for (const Symmetry symmetry : {Symmetry::kAffine, Symmetry::kSymmetric}) {
      const Quantization whole = activation_quantization(s, {}, kU8, symmetry, ScaleKind::kFloat);
      EXPECT_EQ(activation_quantization(s, kByMse, kU8, symmetry, ScaleKind::kFloat), whole);
      EXPECT_EQ(activation_quantization(s, kByEntropy, kU8, symmetry, ScaleKind::kFloat), whole);
    }
  }
}

TEST(RangeSearch, AnEmptyTensorHasAQuantization) {
  TensorStatistics s;
  add_range({}, s);
  add_values({}, s);
  for (const Clipping& clipping : {Clipping{}, kByMse, kByEntropy}) {
    EXPECT_EQ(activation_quantization(s, clipping, kU8, Symmetry::kAffine, ScaleKind::kFloat).scale,
              1);
  }
}

TEST(RangeSearch, SubnormalAndHugeTensorsHaveScales) {
  for (const float unit : {0x1p-149F, 0x1p-120F, 0x1p120F}) {
    Random random(3);
    std::vector<float> values(5000);
    for (float& value : values) value = static_cast<float>(random.uniform(-90, 100)) * unit;
    const TensorStatistics s = statistics_of(values);
    for (const Clipping& clipping : {kByMse, kByEntropy}) {
      for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo}) {
        const Quantization q = activation_quantization(s, clipping, kU8, Symmetry::kAffine, kind);
        EXPECT_TRUE(std::isnormal(q.scale)) << unit;
        if (unit != 0x1p-149F) {
          EXPECT_NEAR(q.scale / unit, 190.0 / 255, 0.3) << unit;
        }
      }
    }
  }
}

}  // namespace
}  // namespace qsim::quantize
