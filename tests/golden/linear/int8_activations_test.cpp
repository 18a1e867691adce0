// The linear layer with int8 activations (W8A8): its definition value by value, the packed layer
// against the plain one, and the codes against those of a conversion per token.
#include "golden/kernels/linear/int8_activations.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "golden/kernels/convert/conversion.h"
#include "golden/kernels/linear/packed_linear.h"
#include "golden/kernels/linear/quantizer.h"
#include "golden/kernels/linear/reference_linear.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

FloatMatrix row_of(FloatType type, const std::vector<float>& values) {
  FloatMatrix x(type, 1, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) x.set(i, bits_of(values[i]));
  return x;
}

std::vector<float> floats_of(const FloatMatrix& matrix) {
  std::vector<float> floats;
  for (std::size_t i = 0; i < matrix.bytes.size() / 4; ++i) {
    floats.push_back(float_of(matrix.fp32_bits(i)));
  }
  return floats;
}

LinearWeights one_channel(const std::vector<int>& values, float scale = 1) {
  LinearWeights weights;
  weights.out_features = 1;
  weights.in_features = static_cast<std::int64_t>(values.size());
  weights.values.assign(values.begin(), values.end());
  weights.scales = {scale};
  return weights;
}

float result(const std::vector<float>& x, const LinearWeights& weights,
             const Int8Activations& activations = {}, const std::vector<float>& bias = {},
             FloatType y_type = FloatType::kFloat32) {
  return float_of(
      reference_linear_int8(row_of(FloatType::kFloat32, x), activations, weights, bias, y_type)
          .fp32_bits(0));
}

TEST(Int8Activations, TakeTheScaleOfTheirRowsLargestMagnitude) {
  // The scale of 254 is 2: 3 is 1.5 steps, a tie, which goes to the even 2.
  EXPECT_EQ(result({-254, 0}, one_channel({1, 1})), -254);
  EXPECT_EQ(result({-254, 3}, one_channel({0, 1})), 4);
  EXPECT_EQ(result({-254, 5}, one_channel({0, 1})), 4);
  EXPECT_EQ(result({-254, 5.1F}, one_channel({0, 1})), 6);
  EXPECT_EQ(result({0, -0.0F}, one_channel({127, 1})), 0);
  EXPECT_EQ(row_scale(0), 1);
  // A scale is at least 2^-126: of 2^-149 the code is 0.
  EXPECT_EQ(row_scale(1), 0x1p-126F);
  EXPECT_EQ(result({0x1p-149F}, one_channel({127})), 0);
  EXPECT_EQ(result({0x1p-126F}, one_channel({127})), 127 * 0x1p-126F);
}

TEST(Int8Activations, TakeAStaticScaleAndSaturate) {
  EXPECT_EQ(result({10, 1000}, one_channel({1, 1}), {0.5F}), 73.5F);  // 20 and 127 halves
  EXPECT_EQ(result({-kInfinity}, one_channel({1}), {0.5F}), -63.5F);
}

TEST(Int8Activations, HaveCodesForWhatIsNotFinite) {
  // The scale comes from the finite ones: 127 has 1. A NaN is 0.
  EXPECT_EQ(result({127, kInfinity, kNan}, one_channel({1, 3, 127})), 127 + 3 * 127);
  EXPECT_EQ(result({kNan}, one_channel({1})), 0);
  EXPECT_EQ(result({kInfinity}, one_channel({2})), 254);
}

TEST(Int8Activations, RoundTheSumTheScalesAndTheBiasEachOnce) {
  // A sum above 2^24 that is odd, so no FP32 number.
  std::vector<float> x(1042, 127);
  LinearWeights weights = one_channel(std::vector<int>(1042, 127));
  weights.values[0] = 126;
  const std::int64_t sum = std::int64_t{127} * 127 * 1042 - 127;
  ASSERT_GT(sum, 1 << 24);
  ASSERT_EQ(sum % 2, 1);
  EXPECT_EQ(result(x, weights), static_cast<float>(sum));
  // The product with the weights' scale is rounded before that with the row's scale, and this one
  // before the bias is added. 3 (1 + 2^-23) rounds to 3 + 2^-21, 3 + 2^-22 being a tie.
  const float scale = 1 + 0x1p-23F;
  EXPECT_EQ(result({1}, one_channel({3}, scale), {1.0F}), 3 + 0x1p-21F);
  EXPECT_EQ(result({1.5F}, one_channel({3}, scale), {1.5F}), 1.5F * (3 + 0x1p-21F));
  EXPECT_EQ(result({1}, one_channel({3}, scale), {1.0F}, {-3.0F}), 0x1p-21F);
  // It comes first: it overflows, and it underflows.
  EXPECT_EQ(result({254}, one_channel({127}, 0x1p127F), {0x1p-20F}), kInfinity);
  EXPECT_EQ(result({0x1p-20F}, one_channel({127}, 0x1p-149F), {0x1p-20F}), 0);
  EXPECT_EQ(bits_of(result({-2}, one_channel({1}, 0x1p-149F), {2.0F})), 0x80000002U);
  EXPECT_EQ(result({65520}, one_channel({1}), {65520.0F}, {}, FloatType::kFloat16), kInfinity);
}

// The bound of ADR 0016, by long double, whose own error is far below it.
TEST(Int8Activations, AreAsNearToTheExactResultAsTheBoundSays) {
  constexpr long double kEpsilon = 0x1p-24L;
  Random random(7);
  long double closest = 0;
  for (int i = 0; i < 300; ++i) {
    const std::int64_t in_features = random.uniform(1, 400);
    const FloatMatrix x = random_floats(random, FloatType::kFloat32, 1, in_features, Values::kNear);
    const LinearWeights weights = quantize_per_channel(
        floats_of(random_floats(random, FloatType::kFloat32, 1, in_features, Values::kNear)), 1,
        in_features);
    const float bias = float_of(x.fp32_bits(0)) * 3;
    const FloatMatrix y = reference_linear_int8(x, {}, weights, {&bias, 1}, FloatType::kFloat32);
    std::uint32_t largest = 0;
    for (std::size_t k = 0; k < weights.values.size(); ++k) {
      largest = std::max(largest, x.fp32_bits(k) & kFp32Magnitude);
    }
    const long double scale = row_scale(largest);
    long double exact = bias;
    long double magnitudes = 0;
    long double sum = 0;
    for (std::size_t k = 0; k < weights.values.size(); ++k) {
      const auto weight = static_cast<long double>(weights.values[k]);
      exact += float_of(x.fp32_bits(k)) * weight * weights.scales[0];
      magnitudes += std::abs(weight);
      sum += weight * activation_code(x.fp32_bits(k), row_scale(largest));
    }
    const long double both = scale * weights.scales[0];
    const long double bound =
        (0.5L + 0x1p-17L) * both * magnitudes +
        (std::pow(1 + kEpsilon, 3.0L) - 1) * (1 + kEpsilon) * std::abs(sum) * both +
        kEpsilon * std::abs(sum * both + bias);
    const long double error = std::abs(float_of(y.fp32_bits(0)) - exact);
    ASSERT_LE(error, bound) << "case " << i << " of seed 7";
    closest = std::max(closest, error / bound);
  }
  EXPECT_GT(closest, 0.3L);  // the bound is not an empty one
}

TEST(Int8Activations, AreExactUpToTheMostInputFeatures) {
  const auto count = static_cast<std::size_t>(kMostInFeatures);
  const LinearWeights weights = one_channel(std::vector<int>(count, -127));
  const FloatMatrix x = row_of(FloatType::kBfloat16, std::vector<float>(count, 127));
  const FloatMatrix expected = reference_linear_int8(x, {}, weights, {}, FloatType::kFloat32);
  EXPECT_EQ(float_of(expected.fp32_bits(0)), static_cast<float>(-127.0 * 127 * 132104));
  ThreadTeam team(1);
  for (const VectorPath path : kVectorPaths) {
    if (!is_available(path)) continue;
    EXPECT_EQ(PackedLinear(weights, {}, {path, {}}).run_int8(x, {}, FloatType::kFloat32, team),
              expected)
        << vector_path_name(path);
  }
}

TEST(Int8Activations, HaveTheCodesAndScalesOfAConversionPerToken) {
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const auto type = random.chance(0.5) ? FloatType::kFloat16 : FloatType::kBfloat16;
    const auto values = static_cast<Values>(random.uniform(0, 3));
    const FloatMatrix x = random_floats(random, type, 1, random.uniform(1, 100), values);
    std::vector<std::uint16_t> codes(x.bytes.size() / 2);
    std::memcpy(codes.data(), x.bytes.data(), x.bytes.size());
    Quantization how;
    how.format = ElementFormat::kInt8;
    how.group = kPerToken;
    const QuantizedTensor q = quantize_reference(
        {type == FloatType::kFloat16 ? ElementFormat::kHalf : ElementFormat::kBfloat16,
         codes.data(),
         {1, x.columns},
         {}},
        how);
    std::uint32_t largest = 0;
    for (std::size_t k = 0; k < codes.size(); ++k) {
      const std::uint32_t bits = x.fp32_bits(k);
      if (is_finite(bits)) largest = std::max(largest, bits & kFp32Magnitude);
    }
    ASSERT_EQ(row_scale(largest), q.scales.at(0)) << "case " << i << " of seed 2";
    for (std::size_t k = 0; k < codes.size(); ++k) {
      ASSERT_EQ(activation_code(x.fp32_bits(k), q.scales[0]), static_cast<std::int8_t>(q.values[k]))
          << "case " << i << " of seed 2, element " << k;
    }
  }
}

void compare(std::uint64_t seed, int cases, std::int64_t most_rows, std::int64_t most_features) {
  Random random(seed);
  int non_zero = 0;
  for (int i = 0; i < cases; ++i) {
    const auto [one, activations] = random_int8_case(random, most_rows, most_features);
    const FloatMatrix expected =
        reference_linear_int8(one.x, activations, one.weights, one.bias, one.y_type);
    const auto shape =
        kTileShapes[static_cast<std::size_t>(random.uniform(0, kTileShapes.size() - 1))];
    ThreadTeam team(random.chance(0.05) ? 3 : 1);
    for (const VectorPath path : kVectorPaths) {
      if (!is_available(path)) continue;
      const PackedLinear layer(one.weights, one.bias, {path, shape});
      ASSERT_EQ(layer.run_int8(one.x, activations, one.y_type, team), expected)
          << "case " << i << " of seed " << seed << ", " << vector_path_name(path) << ", tiles of "
          << shape.panels << " x " << shape.rows << ", x [" << one.x.rows << ", " << one.x.columns
          << "] " << float_type_name(one.x.type) << ", N " << one.weights.out_features;
    }
    non_zero += (expected.fp32_bits(0) & kFp32Magnitude) != 0 ? 1 : 0;
  }
  EXPECT_GT(non_zero, cases / 2);
}

TEST(PackedInt8Linear, EqualsThePlainOneInTenThousandRandomCases) { compare(1, 10000, 9, 150); }

TEST(PackedInt8Linear, EqualsThePlainOneWithManyFeatures) { compare(3, 60, 9, 8192); }

TEST(PackedInt8Linear, EqualsThePlainOneWithManyRows) { compare(4, 6, 256, 300); }

TEST(PackedInt8Linear, GivesTheSameBitsInEveryFloatingPointMode) {
  Random random(5);
  ThreadTeam team(1);
  for (int i = 0; i < 50; ++i) {
    const auto [one, activations] = random_int8_case(random, 3, 80);
    const FloatMatrix expected =
        reference_linear_int8(one.x, activations, one.weights, one.bias, one.y_type);
    std::fenv_t saved;
    std::fegetenv(&saved);
    std::fesetround(FE_UPWARD);
    const FloatMatrix plain =
        reference_linear_int8(one.x, activations, one.weights, one.bias, one.y_type);
    const FloatMatrix packed =
        PackedLinear(one.weights, one.bias).run_int8(one.x, activations, one.y_type, team);
    std::fesetenv(&saved);
    EXPECT_EQ(plain, expected) << "case " << i << " of seed 5";
    EXPECT_EQ(packed, expected) << "case " << i << " of seed 5";
  }
}

template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Int8Activations, AreRefusedWithOtherWeightsAndScales) {
  Random random(6);
  ThreadTeam team(1);
  const FloatMatrix x = random_floats(random, FloatType::kFloat16, 2, 40, Values::kNear);
  const LinearWeights groups = random_weights(random, 3, 40, 32, 4);
  const std::string expected =
      "linear: int8 activations with weights of 4 bits and a group_size of 32; allowed: 8 bits and "
      "0, one scale an output channel";
  const auto reference = [&](const LinearWeights& weights, const Int8Activations& activations) {
    return error_of(
        [&] { reference_linear_int8(x, activations, weights, {}, FloatType::kFloat16); });
  };
  EXPECT_EQ(reference(groups, {}), expected);
  EXPECT_EQ(error_of([&] { PackedLinear(groups, {}).run_int8(x, {}, FloatType::kFloat16, team); }),
            expected);
  const LinearWeights channels = random_weights(random, 3, 40, 0, 8);
  EXPECT_EQ(reference(channels, {0x1p-126F}), "no error");
  const std::pair<float, std::string> refused[] = {
      {0.0F, "0"}, {-1.0F, "-1"}, {0x1p-127F, "5.87747175e-39"}, {kInfinity, "inf"}, {kNan, "nan"}};
  for (const auto& [scale, found] : refused) {
    EXPECT_EQ(reference(channels, {scale}), "linear: the scale of x is " + found +
                                                "; allowed: a finite number of at least 2^-126");
  }
}

}  // namespace
}  // namespace qsim::golden
