// A chain's arithmetic beside its convolutions, against its formulas in plain loops.
#include <cstring>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 50;

struct Chain {
  Random random;
  std::int64_t channels;
  Array<float> x_scale, w_scales, bias, gamma, beta, mean, variance;
  Array<std::int64_t> sums, batches, norm;
  bool has_bias, has_gamma;
  qsim_normalization normalization = {};

  explicit Chain(std::uint64_t seed)
      : random(seed),
        channels(1 + static_cast<std::int64_t>(random.uniform(0, 8))),
        x_scale(QSIM_FLOAT32, {1}, random_scales(random, 1)),
        w_scales(QSIM_FLOAT32, {channels}, random_scales(random, channels)),
        bias(numbers()),
        gamma(numbers()),
        beta(numbers()),
        mean(numbers()),
        variance(QSIM_FLOAT32, {channels}, random_scales(random, channels)),
        sums(QSIM_INT64, {channels, 3}),
        batches(QSIM_INT64, {1}, {static_cast<std::int64_t>(random.uniform(0, 3))}),
        norm(QSIM_BITS64, {5, channels}),
        has_bias(random.chance(0.5)),
        has_gamma(random.chance(0.7)) {
    for (std::int64_t o = 0; o < channels; ++o) {
      const auto at = static_cast<std::size_t>(3 * o);
      sums.values[at] = static_cast<std::int64_t>(random.uniform(0, 199999)) - 100000;
      sums.values[at + 1] =
          static_cast<std::int64_t>(random.uniform(0, (std::int64_t{1} << 31) - 1)) << 3;
      sums.values[at + 2] = static_cast<std::int64_t>(random.uniform(0, 8));
    }
  }
  Array<float> numbers() {
    std::vector<float> values;
    for (std::int64_t o = 0; o < channels; ++o) {
      values.push_back((static_cast<float>(random.uniform(0, 2000)) - 1000) / 300);
    }
    return {QSIM_FLOAT32, {channels}, values};
  }
  const qsim_normalization* described(double momentum) {
    normalization = {sizeof(qsim_normalization),
                     has_gamma ? gamma.tensor() : nullptr,
                     has_gamma ? beta.tensor() : nullptr,
                     mean.tensor(),
                     variance.tensor(),
                     batches.tensor(),
                     1e-5,
                     momentum};
    return &normalization;
  }
  const qsim_tensor* given_bias() const { return has_bias ? bias.tensor() : nullptr; }
  double norm_at(std::int64_t row, std::int64_t o) const {
    double value = 0;
    std::memcpy(&value, &norm.values[static_cast<std::size_t>(row * channels + o)], 8);
    return value;
  }
};

TEST(TrainChain, StatisticsOfABatchAreNormalizedAndMoveTheRunningOnes) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chain c(seed);
    const double momentum = seed % 3 == 0 ? -1.0 : 0.1;
    const std::vector<float> mean = c.mean.values, variance = c.variance.values;
    const std::int64_t before = c.batches.values[0];
    ASSERT_EQ(
        qsim_normalize_statistics(c.sums.tensor(), 500, c.x_scale.tensor(), c.w_scales.tensor(),
                                  c.given_bias(), c.described(momentum), c.norm.tensor(), nullptr),
        QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(c.batches.values[0], before + 1);
    const double share = momentum < 0 ? 1.0 / static_cast<double>(before + 1) : momentum;
    for (std::int64_t o = 0; o < c.channels; ++o) {
      const auto i = static_cast<std::size_t>(o);
      const double unit = double{c.x_scale.values[0]} * double{c.w_scales.values[i]};
      const double m = static_cast<double>(c.sums.values[3 * i]) / 500;
      const double square = (static_cast<double>(c.sums.values[3 * i + 1]) +
                             static_cast<double>(c.sums.values[3 * i + 2]) * 4294967296.0) /
                            500;
      const double v = std::max(square - m * m, 0.0) * (unit * unit);
      const double inverse = 1 / std::sqrt(v + 1e-5);
      const double gain = c.has_gamma ? double{c.gamma.values[i]} * inverse : inverse;
      const double beta = c.has_gamma ? double{c.beta.values[i]} : 0.0;
      EXPECT_EQ(c.norm_at(0, o), gain);
      EXPECT_EQ(c.norm_at(1, o), -gain * unit * m + beta);
      EXPECT_EQ(c.norm_at(2, o), m);
      EXPECT_EQ(c.norm_at(3, o), inverse);
      EXPECT_EQ(c.norm_at(4, o), unit);
      const double bias = c.has_bias ? double{c.bias.values[i]} : 0.0;
      const double kept_mean = mean[i] * static_cast<float>(1 - share);
      const double kept_variance = variance[i] * static_cast<float>(1 - share);
      const double now = m * unit + bias;
      EXPECT_EQ(c.mean.values[i], static_cast<float>(kept_mean + now * share));
      EXPECT_EQ(c.variance.values[i],
                static_cast<float>(kept_variance + v * (500.0 / 499) * share));
    }
  }
}

TEST(TrainChain, RunningStatisticsAreTakenAndStay) {
  Chain c(5);
  const std::vector<float> mean = c.mean.values;
  ASSERT_EQ(qsim_normalize_statistics(nullptr, 0, c.x_scale.tensor(), c.w_scales.tensor(),
                                      c.bias.tensor(), c.described(0.1), c.norm.tensor(), nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(c.mean.values, mean);
  for (std::int64_t o = 0; o < c.channels; ++o) {
    const auto i = static_cast<std::size_t>(o);
    EXPECT_EQ(c.norm_at(2, o), (double{mean[i]} - double{c.bias.values[i]}) / c.norm_at(4, o));
    EXPECT_EQ(c.norm_at(3, o), 1 / std::sqrt(double{c.variance.values[i]} + 1e-5));
  }
}

TEST(TrainChain, AGainAndAnOffsetAreFoldedAndChannelsWithoutAUnitAreSilent) {
  const Array<float> x_scale(QSIM_FLOAT32, {1}, {0.5F}), y_scale(QSIM_FLOAT32, {1}, {0.25F});
  const Array<float> w_scales(QSIM_FLOAT32, {3}, {0.125F, 0.5F, 0x1p-40F});
  const Array<float> bias(QSIM_FLOAT32, {3}, {1, -3, 2});
  const Array<std::int8_t> w(QSIM_INT8, {3, 1, 1, 17}, std::vector<std::int8_t>(51, 9));
  const Array<std::int8_t> used(QSIM_INT8, {3, 1, 1, 17});
  const Array<float> multipliers(QSIM_FLOAT32, {3});
  const Array<std::int32_t> biases(QSIM_INT32, {3});
  ASSERT_EQ(qsim_fold_levels(x_scale.tensor(), w_scales.tensor(), y_scale.tensor(), nullptr,
                             bias.tensor(), w.tensor(), multipliers.tensor(), biases.tensor(),
                             used.tensor(), nullptr),
            QSIM_OK)
      << qsim_last_error();
  // The last channel's unit is raised to 2^-30 of its offset, its bias is then 2^30.
  EXPECT_EQ(multipliers.values, (std::vector<float>{0.25F, 1, 2 * 0x1p-30F / 0.25F}));
  EXPECT_EQ(biases.values, (std::vector<std::int32_t>{16, -12, 1 << 30}));
  EXPECT_EQ(used.values[33], 9);
  EXPECT_EQ(used.values[34], 0);
  Array<std::int64_t> norm(QSIM_BITS64, {5, 3});
  const double numbers[6] = {-2, 4, 0x1p38, 1, -3, 2};  // gains, then offsets
  std::memcpy(norm.values.data(), numbers, sizeof numbers);
  ASSERT_EQ(qsim_fold_levels(x_scale.tensor(), w_scales.tensor(), y_scale.tensor(), norm.tensor(),
                             nullptr, w.tensor(), multipliers.tensor(), biases.tensor(),
                             used.tensor(), nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(multipliers.values, (std::vector<float>{-0.5F, 4, 0.5F}));
  EXPECT_EQ(biases.values, (std::vector<std::int32_t>{-8, -3, 16}));
  EXPECT_EQ(used.values, w.values);
  ASSERT_EQ(qsim_fold_levels(x_scale.tensor(), w_scales.tensor(), y_scale.tensor(), nullptr,
                             nullptr, nullptr, multipliers.tensor(), nullptr, nullptr, nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(multipliers.values, (std::vector<float>{0.25F, 1, 0x1p-39F}));
}

TEST(TrainChain, ObserversOfRowsRememberRangesAndGiveScales) {
  const Array<float> ranges(QSIM_FLOAT32, {4, 2}, {9, 9, -2, 6, 0, 0, -8, 1});
  const Array<float> units(QSIM_FLOAT32, {4}, {9, 0.5F, 1, 2});
  const Array<float> spans(QSIM_FLOAT32, {4}, {127, 127, 255, 127});
  const Array<float> first(QSIM_FLOAT32, {1}, {0.75F});
  const auto observe = [&](std::int32_t observer, std::int32_t power_of_two) {
    const Array<float> state(QSIM_FLOAT32, {4, 3}, {5, 6, 7, -3, 1, 2, 0, 0, 1, -1, 5, 3});
    const Array<float> scales(QSIM_FLOAT32, {4});
    EXPECT_EQ(
        qsim_observe_rows(ranges.tensor(), units.tensor(), spans.tensor(), observer, 0.5F,
                          power_of_two, state.tensor(), first.tensor(), scales.tensor(), nullptr),
        QSIM_OK)
        << qsim_last_error();
    std::vector<float> result = state.values;
    result.insert(result.end(), scales.values.begin(), scales.values.end());
    return result;
  };
  const auto expected = [](float a, float b, float c, float d, const std::vector<float>& scales) {
    std::vector<float> result = {5, 6, 7, a, b, 3, 0, 0, 2, c, d, 4, 0.75F};
    result.insert(result.end(), scales.begin(), scales.end());
    return result;
  };
  EXPECT_EQ(observe(QSIM_OBSERVE_LAST, 0), expected(-1, 3, -16, 2, {3.0F / 127, 1, 16.0F / 127}));
  EXPECT_EQ(observe(QSIM_OBSERVE_ALL, 0), expected(-3, 3, -16, 5, {3.0F / 127, 1, 16.0F / 127}));
  EXPECT_EQ(observe(QSIM_OBSERVE_AVERAGE, 1), expected(-2, 2, -8.5F, 3.5F, {0x1p-5F, 1, 0x1p-3F}));
}

TEST(TrainChain, TheGradientOfNormalizationHasItsFactors) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chain c(seed);
    ASSERT_EQ(
        qsim_normalize_statistics(c.sums.tensor(), 500, c.x_scale.tensor(), c.w_scales.tensor(),
                                  nullptr, c.described(0.1), c.norm.tensor(), nullptr),
        QSIM_OK);
    const Array<float> sums(QSIM_FLOAT32, {c.channels, 2}, random_scales(c.random, 2 * c.channels));
    const Array<float> factors(QSIM_FLOAT32, {c.channels, 3}), gamma(QSIM_FLOAT32, {c.channels}),
        beta(QSIM_FLOAT32, {c.channels}), bias(QSIM_FLOAT32, {c.channels});
    for (const std::int32_t of_batch : {0, 1}) {
      ASSERT_EQ(qsim_normalization_gradient(c.norm.tensor(), sums.tensor(), 500, of_batch,
                                            factors.tensor(), gamma.tensor(), beta.tensor(),
                                            bias.tensor(), nullptr),
                QSIM_OK)
          << qsim_last_error();
      for (std::int64_t o = 0; o < c.channels; ++o) {
        const auto i = static_cast<std::size_t>(o);
        const double gain = c.norm_at(0, o), mean = c.norm_at(2, o), inverse = c.norm_at(3, o),
                     unit = c.norm_at(4, o);
        const double b = double{sums.values[2 * i]};
        const double g = inverse * unit * (double{sums.values[2 * i + 1]} - mean * b);
        const double slope = of_batch == 1 ? -gain * g * unit * inverse / 500 : 0;
        const double constant = of_batch == 1 ? -gain * b / 500 - slope * mean : 0;
        EXPECT_EQ(factors.values[3 * i], static_cast<float>(gain));
        EXPECT_EQ(factors.values[3 * i + 1], static_cast<float>(slope));
        EXPECT_EQ(factors.values[3 * i + 2], static_cast<float>(constant));
        EXPECT_EQ(gamma.values[i], static_cast<float>(g));
        EXPECT_EQ(beta.values[i], static_cast<float>(b));
        EXPECT_EQ(bias.values[i], of_batch == 1 ? 0 : static_cast<float>(gain * b));
      }
    }
  }
}

TEST(TrainChain, WhatIsNotAllowedIsRefused) {
  Chain c(2);
  const auto refused = [&](std::int64_t pixels, const std::string& message) {
    EXPECT_EQ(
        qsim_normalize_statistics(c.sums.tensor(), pixels, c.x_scale.tensor(), c.w_scales.tensor(),
                                  nullptr, &c.normalization, c.norm.tensor(), nullptr),
        QSIM_BAD_INPUT);
    EXPECT_EQ(qsim_last_error(), message);
  };
  c.described(0.1);
  refused(1, "normalize_statistics: pixels is 1; allowed: 2 to 9223372036854775807");
  c.normalization.struct_bytes = 1;
  refused(2,
          "normalize_statistics: normalization: struct_bytes is 1; expected "
          "sizeof(qsim_normalization), which is " +
              std::to_string(sizeof(qsim_normalization)));
  c.described(0.1);
  c.normalization.running_var = nullptr;
  refused(2, "normalize_statistics: running_var is missing: its pointer is NULL");
  const Array<float> one(QSIM_FLOAT32, {1}, {1});
  EXPECT_EQ(qsim_fold_levels(one.tensor(), one.tensor(), one.tensor(), nullptr, one.tensor(),
                             nullptr, one.tensor(), nullptr, nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "fold_levels: w is missing: its pointer is NULL");
}

}  // namespace
}  // namespace qsim::golden_test
