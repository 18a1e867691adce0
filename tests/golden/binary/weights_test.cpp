// Float weights as a sum of binary bases: signs, alphas by least squares, equal bases.
#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/binary/binary_weights.h"
#include "golden/kernels/binary/least_squares.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

constexpr WeightShape kShape = {6, 3, 3, 70};

std::vector<float> some_weights(std::uint64_t seed, const WeightShape& shape = kShape) {
  Random random(seed);
  const std::int64_t count = shape.out_channels * shape.taps() * shape.channels;
  return golden_test::random_reals(random, static_cast<std::size_t>(count));
}

double squared_error(const std::vector<float>& w, const std::vector<float>& found) {
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double rest = static_cast<double>(w[i]) - static_cast<double>(found[i]);
    sum += rest * rest;
  }
  return sum;
}

TEST(BinaryWeights, OneBaseIsTheSignOfTheCentredWeightsTimesTheirMeanDistance) {
  const std::vector<float> w = {3, 1, -1, -3};  // mean 0
  const BinarizedWeights found = binarize(w, {1, 1, 1, 4}, even_u(1), AlphaGroup::kLayer);
  EXPECT_EQ(found.weights.words, std::vector<std::uint64_t>{0b0011});
  EXPECT_EQ(found.weights.alpha, std::vector<float>{2});
  EXPECT_EQ(found.squared_error, 4);
  EXPECT_EQ(found.squared_deviation, 20);
}

TEST(BinaryWeights, AWeightAtItsThresholdIsPlusOne) {
  const std::vector<float> w = {0, -0.0F, 1, -1};
  const BinarizedWeights found = binarize(w, {1, 1, 1, 4}, even_u(1), AlphaGroup::kLayer);
  EXPECT_EQ(found.weights.words, std::vector<std::uint64_t>{0b0111});
}

TEST(BinaryWeights, BasesShiftByEvenPartsOfTheStandardDeviation) {
  EXPECT_EQ(even_u(1), std::vector<double>{0});
  EXPECT_EQ(even_u(2), (std::vector<double>{-1, 1}));
  EXPECT_EQ(even_u(5), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  const std::vector<float> w = {-3, -1, 1, 3};  // std is sqrt(5)
  const BinarizedWeights found = binarize(w, {1, 1, 1, 4}, even_u(3), AlphaGroup::kLayer);
  EXPECT_EQ(found.weights.words, (std::vector<std::uint64_t>{0b1000, 0b1100, 0b1110}));
  EXPECT_LT(found.squared_error, 1e-12);
}

// The residual of least squares is orthogonal to each base; any other alpha is worse.
TEST(BinaryWeights, NoOtherAlphaIsNearer) {
  for (int bases = 1; bases <= kMostBases; ++bases) {
    for (const AlphaGroup group : {AlphaGroup::kLayer, AlphaGroup::kChannel}) {
      const std::vector<float> w = some_weights(static_cast<std::uint64_t>(bases));
      const BinarizedWeights found = binarize(w, kShape, even_u(bases), group);
      // dequantize() rounds each of 3,780 sums to float32.
      EXPECT_NEAR(squared_error(w, dequantize(found.weights)), found.squared_error, 1e-3);
      const std::size_t step_of = group == AlphaGroup::kLayer ? 6 : 1;  // alphas that are one
      for (std::size_t i = 0; i < found.weights.alpha.size(); i += step_of) {
        for (const float step : {-0.01F, 0.01F}) {
          BinaryWeights other = found.weights;
          for (std::size_t k = i; k < i + step_of; ++k) other.alpha[k] += step;
          EXPECT_GT(squared_error(w, dequantize(other)), found.squared_error + 1e-3) << bases;
        }
      }
    }
  }
}

TEST(BinaryWeights, MoreBasesAreNearerAndChannelsOfTheirOwnScaleNearerThanTheLayer) {
  std::vector<float> w = some_weights(7);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] *= static_cast<float>(i * 6 / w.size() + 1);
  double last = 1e30;
  for (const int bases : {1, 2, 3, 5, 8}) {
    const double layer = binarize(w, kShape, even_u(bases), AlphaGroup::kLayer).squared_error;
    const double channel = binarize(w, kShape, even_u(bases), AlphaGroup::kChannel).squared_error;
    EXPECT_LT(layer, last);
    EXPECT_LT(channel, layer);
    last = layer;
  }
}

TEST(BinaryWeights, EqualBasesHaveOneAlphaAndTheOthersNone) {
  const std::vector<float> w = some_weights(8);
  const std::vector<double> twice = {0.25, 0.25, -0.5};
  const BinarizedWeights found = binarize(w, kShape, twice, AlphaGroup::kLayer);
  const std::vector<double> once = {0.25, -0.5};
  const BinarizedWeights expected = binarize(w, kShape, once, AlphaGroup::kLayer);
  EXPECT_EQ(found.squared_error, expected.squared_error);
  EXPECT_EQ(found.weights.alpha[0], expected.weights.alpha[0]);
  EXPECT_EQ(found.weights.alpha[6], 0.0F);
  EXPECT_EQ(found.weights.alpha[12], expected.weights.alpha[6]);
}

TEST(BinaryWeights, EqualWeightsAreExactWithAnyNumberOfBases) {
  for (int bases = 1; bases <= kMostBases; ++bases) {
    const std::vector<float> w(10, -0.75F);
    const BinarizedWeights found = binarize(w, {1, 1, 1, 10}, even_u(bases), AlphaGroup::kLayer);
    EXPECT_EQ(dequantize(found.weights), w);
    EXPECT_EQ(found.squared_error, 0);
  }
}

// All +1 and all -1 are one base up to sign.
TEST(BinaryWeights, AConstantBaseAndItsNegativeAreOne) {
  const std::vector<float> w = {1, 2, 4, 9};
  const std::vector<double> u = {-100, 100, 0};
  const BinarizedWeights found = binarize(w, {1, 1, 1, 4}, u, AlphaGroup::kLayer);
  EXPECT_EQ(found.weights.words, (std::vector<std::uint64_t>{0, 0b1111, 0b1100}));
  EXPECT_EQ(found.weights.alpha[1], 0.0F);
  // The best two levels are 1.5 and 6.5.
  EXPECT_NEAR(found.squared_error, 13, 1e-12);  // solved in double
}

TEST(BinaryWeights, ChannelsThatFillNoWordLeaveItsOtherBitsZero) {
  const std::vector<float> w = some_weights(9);
  const BinarizedWeights found = binarize(w, kShape, even_u(2), AlphaGroup::kChannel);
  for (std::size_t i = 1; i < found.weights.words.size(); i += 2) {
    EXPECT_EQ(found.weights.words[i] >> 6, 0U);
  }
}

TEST(LeastSquares, SolvesWhatWasMultipliedOut) {
  // Bases -+++, --++, ---+ of four elements, w = 1 b1 + 2 b2 + 3 b3 = -6, -4, 0, 6.
  const std::vector<std::int64_t> gram = {4, 2, 0, 2, 4, 2, 0, 2, 4};
  const std::vector<double> products = {8, 16, 16};
  const std::vector<double> alpha = solve_bases(gram, products);
  EXPECT_NEAR(alpha[0], 1, 1e-12);
  EXPECT_NEAR(alpha[1], 2, 1e-12);
  EXPECT_NEAR(alpha[2], 3, 1e-12);
}

}  // namespace
}  // namespace qsim::golden
