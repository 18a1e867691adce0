// The definition of the weight-only linear layer, value by value, and the quantizer. The test of
// `qsim golden linear` compares it with exact rational arithmetic.
#include "golden/kernels/linear/reference_linear.h"

#include <cfenv>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "golden/kernels/linear/quantizer.h"
#include "tests/golden/linear/random_linear.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace qsim::golden {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

FloatMatrix row_of(FloatType type, const std::vector<float>& values) {
  FloatMatrix x(type, 1, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) x.set(i, bits_of(values[i]));
  return x;
}

LinearWeights one_channel(const std::vector<int>& values, float scale = 1) {
  LinearWeights weights;
  weights.out_features = 1;
  weights.in_features = static_cast<std::int64_t>(values.size());
  weights.values.assign(values.begin(), values.end());
  weights.scales = {scale};
  return weights;
}

std::uint32_t result_bits(const FloatMatrix& x, const LinearWeights& weights,
                          const std::vector<float>& bias = {},
                          FloatType y_type = FloatType::kFloat32) {
  return reference_linear(x, weights, bias, y_type).fp32_bits(0);
}

float result(const FloatMatrix& x, const LinearWeights& weights,
             const std::vector<float>& bias = {}) {
  return float_of(result_bits(x, weights, bias));
}

TEST(ReferenceLinear, AddsExactlyAndRoundsOnce) {
  // In float arithmetic, 1 is lost beside 2^24 * 127, in whatever order it is added.
  const LinearWeights weights = one_channel({127, 1, -127});
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {0x1p24F, 1, 0x1p24F}), weights), 1);
  EXPECT_EQ(result(row_of(FloatType::kFloat16, {65504, 0x1p-24F, 65504}), weights), 0x1p-24F);
}

TEST(ReferenceLinear, RoundsTheSumTheScaleAndTheBiasEachOnceTiesToEven) {
  // 2^24 + 1 is a tie: to even, 2^24. 2^24 + 3 is one too: 2^24 + 4.
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {0x1p24F, 1}), one_channel({1, 1})), 0x1p24F);
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {0x1p24F, 3}), one_channel({1, 1})), 0x1p24F + 4);
  // The product with the scale is rounded before the bias is added.
  const float scale = 1 + 0x1p-23F;
  const float x = 1 + 0x1p-23F;
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {x}), one_channel({1}, scale), {-1.0F}),
            static_cast<float>(x * scale) - 1);
}

TEST(ReferenceLinear, RoundsFloat32RowsToFortyBitsOfTheirLargest) {
  // 1 is 2^38 steps; half a step rounds to even, more rounds up.
  const LinearWeights weights = one_channel({0, 127});
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {1, 0x1p-39F}), weights), 0);
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {1, 0x1.8p-39F}), weights), 127 * 0x1p-38F);
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {1, -0x1.8p-38F}), weights), -127 * 0x1p-37F);
  // A row whose largest significand is above 0xFEFEFE has steps twice as large.
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {0xFEFEFEp-23F, 0x1p-38F}), weights),
            127 * 0x1p-38F);
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {0xFEFEFFp-23F, 0x1p-38F}), weights), 0);
  // FP16 is exact whatever its row.
  EXPECT_EQ(result(row_of(FloatType::kFloat16, {65504, 0x1p-24F}), weights), 127 * 0x1p-24F);
}

TEST(ReferenceLinear, KeepsSubnormalNumbersAndRoundsIntoThem) {
  const float least = 0x1p-149F;
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {least}), one_channel({-127})), 0x8000007F);
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {least}), one_channel({3}, 0.5F)), 2U);
  EXPECT_EQ(result_bits(row_of(FloatType::kBfloat16, {0x1p-133F}), one_channel({1})), 1U << 16);
  EXPECT_EQ(result(row_of(FloatType::kFloat16, {0x1p-24F}), one_channel({5})), 5 * 0x1p-24F);
}

TEST(ReferenceLinear, OverflowsToInfinity) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {largest}), one_channel({-2})), -kInfinity);
  EXPECT_EQ(result(row_of(FloatType::kFloat32, {largest}), one_channel({127}, 0x1p-7F)),
            largest * (127.0F / 128));
  const LinearWeights weights = one_channel({1});
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {65519}), weights, {}, FloatType::kFloat16),
            bits_of(65504));
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {65520}), weights, {}, FloatType::kFloat16),
            bits_of(kInfinity));
}

TEST(ReferenceLinear, AddsNanAndInfinityAsIeeeDoes) {
  const auto of = [](const std::vector<float>& x, const std::vector<int>& w) {
    return result_bits(row_of(FloatType::kFloat16, x), one_channel(w, 0.5F), {1});
  };
  EXPECT_EQ(of({kInfinity, 3}, {2, 1}), bits_of(kInfinity));
  EXPECT_EQ(of({kInfinity, 3}, {-2, 1}), bits_of(-kInfinity));
  EXPECT_EQ(of({-kInfinity, kInfinity}, {-2, 1}), bits_of(kInfinity));
  EXPECT_EQ(of({kInfinity, kInfinity}, {-2, 1}), kFp32Nan);
  EXPECT_EQ(of({kInfinity, 3}, {0, 1}), kFp32Nan);
  EXPECT_EQ(of({-kNan, 3}, {0, 1}), kFp32Nan);
  for (const FloatType type : {FloatType::kFloat16, FloatType::kBfloat16}) {
    EXPECT_EQ(result_bits(row_of(type, {kNan}), one_channel({1}), {}, type), kFp32Nan);
  }
}

TEST(ReferenceLinear, HasNoNegativeZeroOfZeros) {
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {-0.0F, -0.0F}), one_channel({1, 5})), 0U);
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {1, -1}), one_channel({1, 1})), 0U);
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {0}), one_channel({1}), {-0.0F}), 0U);
  // A negative result that underflows keeps its sign.
  EXPECT_EQ(result_bits(row_of(FloatType::kFloat32, {-0x1p-149F}), one_channel({1}, 0.25F)),
            0x80000000U);
}

TEST(ReferenceLinear, AddsGroupsInAscendingOrderByFma) {
  LinearWeights weights = one_channel(std::vector<int>(65, 0));
  weights.group_size = 32;
  weights.scales = {1, 1, 1};
  weights.values[0] = 1;
  weights.values[32] = 1;
  weights.values[64] = -1;
  std::vector<float> x(65, 0.0F);
  x[0] = 1;
  x[32] = 0x1p24F;
  x[64] = 0x1p24F;
  EXPECT_EQ(result(row_of(FloatType::kFloat32, x), weights), 0);  // 1 is lost beside 2^24
  std::swap(x[0], x[64]);
  std::swap(weights.values[0], weights.values[64]);
  EXPECT_EQ(result(row_of(FloatType::kFloat32, x), weights), 1);  // it comes last
  // The product of the second group, 1 + 2^-22 + 2^-46, is not rounded before it is added.
  weights.scales[1] = 1 + 0x1p-23F;
  x[0] = 1 + 0x1p-22F;
  x[32] = 1 + 0x1p-23F;
  x[64] = 0;
  EXPECT_EQ(result(row_of(FloatType::kFloat32, x), weights), 0x1p-46F);
}

TEST(ReferenceLinear, TakesFourBitWeightsWithTheirZeroPoints) {
  LinearWeights weights = one_channel({15, 0}, 0.25F);
  weights.bits = 4;
  weights.zero_points = {5};
  EXPECT_EQ(result(row_of(FloatType::kFloat16, {2, 3}), weights), (10 * 2 - 5 * 3) * 0.25F);
}

TEST(ReferenceLinear, IsExactUpToTheMostInputFeatures) {
  // 65504 * 2^24 * 127 * 132104 does not fit 64 bits. The sum of an odd count is rounded.
  const std::vector<float> x(static_cast<std::size_t>(kMostInFeatures), 65504);
  LinearWeights weights = one_channel(std::vector<int>(x.size(), 127));
  EXPECT_EQ(result(row_of(FloatType::kFloat16, x), weights),
            static_cast<float>(65504.0 * 127 * static_cast<double>(kMostInFeatures)));
}

TEST(ReferenceLinear, GivesTheSameBitsInEveryFloatingPointMode) {
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const LinearCase one = random_linear_case(random, 3, 80);
    const FloatMatrix expected = reference_linear(one.x, one.weights, one.bias, one.y_type);
    for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fenv_t saved;
      std::fegetenv(&saved);
      std::fesetround(rounding);
#if defined(__x86_64__)
      _mm_setcsr(_mm_getcsr() | 0x8040U);
#endif
      const FloatMatrix found = reference_linear(one.x, one.weights, one.bias, one.y_type);
      std::fesetenv(&saved);
      EXPECT_EQ(found, expected) << "case " << i << " of seed 3";
    }
  }
}

TEST(Quantizer, ScalesEachChannelByItsLargestMagnitude) {
  const std::vector<float> weights = {254, -127, 3, 1, 0, -0.0F, 0, 0, -1, 0.5F, 0.498F, 0};
  const LinearWeights result = quantize_per_channel(weights, 3, 4);
  EXPECT_EQ(result.scales, (std::vector<float>{2, 1, 1.0F / 127}));
  // 63.5 and 1.5 are ties: to even.
  EXPECT_EQ(result.values, (std::vector<std::int8_t>{127, -64, 2, 0, 0, 0, 0, 0, -127, 64, 63, 0}));
}

TEST(Quantizer, GivesAChannelTooSmallForAScaleZeros) {
  const LinearWeights result = quantize_per_channel(std::vector<float>{0x1p-149F, 0}, 1, 2);
  EXPECT_EQ(result.scales[0], 1);
  EXPECT_EQ(result.values, (std::vector<std::int8_t>{0, 0}));
}

TEST(Quantizer, SaturatesWhereASubnormalScaleIsTooSmall) {
  // 190 / 127 in units of 2^-149 is 1.
  const std::vector<float> weights = {190 * 0x1p-149F, -190 * 0x1p-149F};
  const LinearWeights result = quantize_per_channel(weights, 1, 2);
  EXPECT_EQ(bits_of(result.scales[0]), 1U);
  EXPECT_EQ(result.values, (std::vector<std::int8_t>{127, -127}));
}

TEST(Quantizer, QuantizesGroupsToFourBitsWithAndWithoutZeroPoints) {
  std::vector<float> weights(33, 0.0F);
  weights[0] = 14;
  weights[1] = -7;
  weights[2] = 1;
  weights[32] = -3;
  const LinearWeights symmetric = quantize_to_int4(weights, 1, 33, 32, true);
  EXPECT_EQ(symmetric.scales, (std::vector<float>{2, 3.0F / 7}));
  EXPECT_EQ(symmetric.zero_points, (std::vector<std::uint8_t>{8, 8}));
  EXPECT_EQ(symmetric.values[0], 15);
  EXPECT_EQ(symmetric.values[1], 4);  // -3.5 is a tie: to even
  EXPECT_EQ(symmetric.values[2], 8);
  EXPECT_EQ(symmetric.values[32], 1);
  const LinearWeights any = quantize_to_int4(weights, 1, 33, 32, false);
  EXPECT_EQ(any.scales, (std::vector<float>{1.4F, 0.2F}));
  EXPECT_EQ(any.zero_points, (std::vector<std::uint8_t>{5, 15}));
  EXPECT_EQ(any.values[0], 15);
  EXPECT_EQ(any.values[1], 0);
  EXPECT_EQ(any.values[2], 6);
  EXPECT_EQ(any.values[32], 0);
}

TEST(Quantizer, TransposesAnyShape) {
  Random random(4);
  for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 130}, {65, 64}, {129, 7}}) {
    std::vector<std::int8_t> values;
    for (int i = 0; i < rows * columns; ++i) {
      values.push_back(static_cast<std::int8_t>(random.uniform(-128, 127)));
    }
    const std::vector<std::int8_t> result = transposed(values, rows, columns);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const auto at = [](int i) { return static_cast<std::size_t>(i); };
        ASSERT_EQ(result[at(column * rows + row)], values[at(row * columns + column)]);
      }
    }
  }
}

}  // namespace
}  // namespace qsim::golden
