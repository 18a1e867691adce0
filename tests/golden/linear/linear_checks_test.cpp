// What the linear layer refuses, and how it says so.
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "golden/kernels/linear/packed_linear.h"
#include "golden/kernels/linear/quantizer.h"
#include "golden/kernels/linear/reference_linear.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

LinearCase small() {
  Random random(1);
  LinearCase one;
  one.x = random_floats(random, FloatType::kFloat16, 2, 40, Values::kNear);
  one.weights = random_weights(random, 3, 40, 32, 4);
  one.bias = {1, 2, 3};
  return one;
}

std::string error_of_case(const LinearCase& one) {
  return error_of([&] { reference_linear(one.x, one.weights, one.bias, one.y_type); });
}

TEST(LinearChecks, RefuseSizesThatDoNotFit) {
  LinearCase one = small();
  one.x = FloatMatrix(FloatType::kFloat16, 2, 41);
  const std::string wrong_x = "linear: x is [2, 41]; the weights take rows of 40, and at least one";
  EXPECT_EQ(error_of_case(one), wrong_x);
  ThreadTeam team;
  const PackedLinear layer(one.weights, one.bias);
  EXPECT_EQ(error_of([&] { layer.run(one.x, FloatType::kFloat16, team); }), wrong_x);
  one.x = FloatMatrix(FloatType::kFloat16, 0, 40);
  EXPECT_NE(error_of_case(one), "no error");
  one = small();
  one.bias.pop_back();
  EXPECT_EQ(error_of_case(one), "linear: 2 values of bias; the weights have 3 output channels");
  one = small();
  one.weights.values.pop_back();
  EXPECT_EQ(error_of_case(one), "linear: 119 weights; the sizes of the weights need 120");
  one = small();
  one.weights.scales.pop_back();
  EXPECT_EQ(error_of_case(one), "linear: 5 scales; the sizes of the weights need 6");
  one = small();
  one.weights.zero_points.clear();
  EXPECT_EQ(error_of_case(one), "linear: 0 zero_points; the sizes of the weights need 6");
}

TEST(LinearChecks, RefuseWeightsThatTheDefinitionDoesNotHave) {
  LinearCase one = small();
  one.weights.bits = 5;
  EXPECT_EQ(error_of_case(one), "linear: weights of 5 bits; allowed: 8 and 4");
  one = small();
  one.weights.group_size = 48;
  EXPECT_EQ(error_of_case(one),
            "linear: a group_size of 48; allowed: 32, 64, 128, and 0 for one scale an output "
            "channel");
  one = small();
  one.weights.out_features = 0;
  EXPECT_EQ(error_of_case(one), "linear: weights of shape [0, 40]; each size must be at least 1");
  one = small();
  one.weights.in_features = kMostInFeatures + 1;
  EXPECT_EQ(error_of_case(one),
            "linear: 132105 input features; at most 132104 are allowed, whose sums fit 32 bits");
}

TEST(LinearChecks, RefuseValuesOnlyOnRequest) {
  const auto check = [](const LinearCase& one) {
    return error_of([&] { check_values(one.x, one.weights, one.bias); });
  };
  EXPECT_EQ(check(small()), "no error");
  LinearCase one = small();
  one.x.set(41, kFp32Nan);
  EXPECT_EQ(check(one), "linear: x[1, 1] is infinite or not a number");
  EXPECT_EQ(error_of_case(one), "no error");
  one = small();
  one.weights.values[42] = 16;
  EXPECT_EQ(check(one), "linear: weight[1, 2] is 16; allowed: 0 to 15");
  one.weights = quantize_per_channel(std::vector<float>(120, 1.0F), 3, 40);
  EXPECT_EQ(check(one), "no error");
  one.weights.values[0] = -128;
  EXPECT_EQ(check(one), "linear: weight[0, 0] is -128; allowed: -127 to 127");
  one = small();
  one.weights.scales[3] = 0;
  EXPECT_EQ(check(one), "linear: scale[1, 1] is not a positive finite number");
  one = small();
  one.bias[2] = kNan;
  EXPECT_EQ(check(one), "linear: bias[2] is infinite or not a number");
}

TEST(LinearChecks, QuantizersTakeFiniteWeightsAlone) {
  std::vector<float> weights(64, 1.0F);
  weights[33] = kNan;
  const std::string expected =
      "linear: weight[1, 1] is infinite or not a number; only finite weights can be quantized";
  EXPECT_EQ(error_of([&] { quantize_per_channel(weights, 2, 32); }), expected);
  EXPECT_EQ(error_of([&] { quantize_to_int4(weights, 2, 32, 32, true); }), expected);
  EXPECT_NE(error_of([&] { quantize_per_channel(weights, 3, 32); }), "no error");
}

}  // namespace
}  // namespace qsim::golden
