// A corrected bias against trying every one.
#include "quantize/bias_correction.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim::quantize {
namespace {

constexpr std::int64_t kPositions = 400;
constexpr std::size_t kChannels = 6;

// The sums of a float network and those of few bits: smaller, moved, and with noise. Most are
// below 0.
struct Sums {
  Tensor real{DType::kFloat32, {4, 10, 10, std::int64_t{kChannels}}};
  Tensor quantized = real;

  explicit Sums(std::uint64_t seed) {
    Random random(seed);
    const auto between = [&](double low, double high) {
      return low + (high - low) * static_cast<double>(random.uniform(0, 10'000)) / 10'000;
    };
    for (std::size_t i = 0; i < real.as<float>().size(); ++i) {
      const double sum = between(-4, 2) + between(-1, 1);
      real.as<float>()[i] = static_cast<float>(sum);
      const double moved = 0.1 * static_cast<double>(i % kChannels);
      quantized.as<float>()[i] = static_cast<float>(0.7 * sum + moved + between(-0.5, 0.5));
    }
  }

  double error(std::size_t channel, double shift, const ClampRange& clamp) const {
    double sum = 0;
    for (std::size_t i = channel; i < real.as<float>().size(); i += kChannels) {
      const double found = static_cast<double>(quantized.as<float>()[i]) + shift;
      const double wanted = static_cast<double>(real.as<float>()[i]);
      sum += std::pow(std::clamp<double>(found, clamp.low, clamp.high) -
                          std::clamp<double>(wanted, clamp.low, clamp.high),
                      2);
    }
    return sum / kPositions;
  }
};

// The mean of each channel, added in double in the tensor's order.
std::vector<double> channel_means(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  std::vector<double> means(static_cast<std::size_t>(tensor.shape.back()));
  for (std::size_t i = 0; i < values.size();) {
    for (double& mean : means) mean += static_cast<double>(values[i++]);
  }
  const auto count = static_cast<double>(values.size()) / static_cast<double>(means.size());
  for (double& mean : means) mean /= count;
  return means;
}

TEST(BiasCorrection, IsNearTheBestOfAllBiasesForClampedSums) {
  const std::vector<float> bias(kChannels, 0.25F);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Sums sums(seed);
    for (const ClampRange clamp : {ClampRange{.low = 0}, ClampRange{.low = 0, .high = 1}}) {
      const auto corrected = corrected_bias(bias, sums.real, sums.quantized, clamp);
      for (std::size_t c = 0; c < kChannels; ++c) {
        double least = sums.error(c, 0, clamp);
        for (int i = -400; i <= 400; ++i) {
          least = std::min(least, sums.error(c, 0.005 * i, clamp));
        }
        const double shift = static_cast<double>(corrected[c]) - 0.25;
        EXPECT_LE(sums.error(c, shift, clamp), 1.01 * least) << seed << " " << c;
      }
    }
  }
}

TEST(BiasCorrection, WithoutAClampIsTheDifferenceOfTheMeans) {
  const Sums sums(7);
  const auto corrected =
      corrected_bias(std::vector<float>(kChannels, 1), sums.real, sums.quantized);
  const auto wanted = channel_means(sums.real);
  const auto found = channel_means(sums.quantized);
  for (std::size_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(corrected[c], 1 + wanted[c] - found[c], 1e-6);
    EXPECT_GT(std::abs(wanted[c] - found[c]), 0.05);
  }
}

// The mean of all sums would move the few that count the wrong way.
TEST(BiasCorrection, OfAReluMovesTheSumsThatCountUpWhereFewBitsMadeThemSmaller) {
  const Sums sums(8);
  const ClampRange relu{.low = 0};
  const auto corrected = corrected_bias({0, 0, 0, 0, 0, 0}, sums.real, sums.quantized, relu);
  const double by_means = channel_means(sums.real)[0] - channel_means(sums.quantized)[0];
  EXPECT_LT(by_means, -0.1);
  EXPECT_GT(corrected[0], 0.02);
  EXPECT_GT(sums.error(0, by_means, relu), sums.error(0, 0, relu));
}

TEST(BiasCorrection, LeavesAChannelThatItsClampHides) {
  Sums sums(9);
  for (std::size_t i = 2; i < sums.real.as<float>().size(); i += kChannels) {
    sums.real.as<float>()[i] = -3;
    sums.quantized.as<float>()[i] = -2;
  }
  const auto corrected =
      corrected_bias({0, 0, 0.5F, 0, 0, 0}, sums.real, sums.quantized, {.low = 0});
  EXPECT_EQ(corrected[2], 0.5F);
  EXPECT_NE(corrected[1], 0);
}

}  // namespace
}  // namespace qsim::quantize
