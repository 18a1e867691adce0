// Thresholds by the squared error that they leave.
#include "golden/kernels/binary/threshold_fit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/binary/binary_weights.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

// Sums of twelve uniform numbers are near to normal ones.
std::vector<float> bell_samples(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<float> samples(count);
  for (float& sample : samples) {
    std::int64_t sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.uniform(-500'000, 500'000);
    sample = static_cast<float>(sum) / 1'000'000.0F;
  }
  return samples;
}

TEST(ThresholdFit, FindsTheLevelsOfSamplesThatHaveFew) {
  // 0, 1, 2 and 3 are 1.5 + (-1.5, -0.5, 0.5, 1.5): three steps and a constant need four bases.
  std::vector<float> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(static_cast<float>(i % 4));
  EXPECT_LT(fit_activations(samples, 4).squared_error, 1e-6);
  EXPECT_GT(fit_activations(samples, 2).squared_error, 10);
}

TEST(ThresholdFit, MoreBasesLeaveLess) {
  const std::vector<float> samples = bell_samples(1, 4000);
  double last = 1e30;
  for (int bases = 1; bases <= kMostBases; ++bases) {
    const double error = fit_activations(samples, bases).squared_error;
    EXPECT_LT(error, last) << bases;
    last = error;
  }
}

// One base at 0 leaves 1 - 2/pi of a normal distribution's variance, and the best four levels
// (three bases) 0.1175 (Max, "Quantizing for minimum distortion", 1960).
TEST(ThresholdFit, OfNormalSamplesLeavesWhatTheBestQuantizersDo) {
  const std::vector<float> samples = bell_samples(2, 20'000);
  double power = 0;
  for (const float x : samples) power += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(fit_activations(samples, 1).squared_error / power, 0.3634, 0.01);
  EXPECT_NEAR(fit_activations(samples, 3).squared_error / power, 0.1175, 0.01);
}

TEST(ThresholdFit, FittedUIsNoWorseThanEvenU) {
  const std::vector<float> w = bell_samples(3, 3 * 3 * 64 * 8);
  const WeightShape shape = {8, 3, 3, 64};
  for (int bases = 1; bases <= 5; ++bases) {
    const double even = binarize(w, shape, even_u(bases), AlphaGroup::kLayer).squared_error;
    const double fitted = binarize(w, shape, fit_u(w, bases), AlphaGroup::kLayer).squared_error;
    EXPECT_LT(fitted, even * 1.005) << bases;
    if (bases == 2) {
      EXPECT_LT(fitted, even * 0.99);
    }
  }
}

TEST(ThresholdFit, EqualSamplesAreExact) {
  const std::vector<float> samples(100, 0.75F);
  const ActivationFit fit = fit_activations(samples, 3);
  EXPECT_EQ(fit.squared_error, 0);
  EXPECT_EQ(fit_u(samples, 2), (std::vector<double>{0, 0}));
}

TEST(ThresholdFit, BetaIsLeastSquares) {
  const std::vector<float> samples = bell_samples(4, 1000);
  const ActivationFit fit = fit_activations(samples, 2);
  const ThresholdQuantizer quantizer{fit.v};
  for (std::size_t j = 0; j < 2; ++j) {
    for (const float step : {-0.01F, 0.01F}) {
      std::vector<float> beta = fit.beta;
      beta[j] += step;
      double error = 0;
      for (const float x : samples) {
        double rest = static_cast<double>(x);
        for (std::size_t k = 0; k < 2; ++k) {
          rest -= static_cast<double>(beta[k]) * (quantizer(x, k) ? 1 : -1);
        }
        error += rest * rest;
      }
      EXPECT_GT(error, fit.squared_error);
    }
  }
}

}  // namespace
}  // namespace qsim::golden
