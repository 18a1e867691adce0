// What the linear layer on a GPU refuses, with and without one.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "golden/device/copy_time.h"
#include "golden/device/devices.h"
#include "golden/kernels/linear/cuda/cuda_linear.h"
#include "golden/kernels/linear/cuda/int8_launch.h"
#include "golden/kernels/linear/cuda/linear_launch.h"

namespace qsim::golden {
namespace {

LinearWeights ones(std::int64_t out_features, std::int64_t in_features) {
  LinearWeights weights;
  weights.out_features = out_features;
  weights.in_features = in_features;
  weights.values.assign(static_cast<std::size_t>(out_features * in_features), 1);
  weights.scales.assign(static_cast<std::size_t>(out_features), 1.0F);
  return weights;
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CudaLinear, RefusesABiasThatDoesNotFitBeforeItLooksForADevice) {
  const std::vector<float> bias(3, 1.0F);
  EXPECT_EQ(message_of([&] { CudaLinear(ones(2, 4), bias, 0); }),
            "linear: 3 values of bias; the weights have 2 output channels");
}

TEST(CudaLinear, RefusesMoreOutputChannelsThanALaunchCanNumber) {
  cuda::DeviceWeights weights;
  weights.in_features = 1;
  weights.out_features = 2147483632;
  const std::string expected = "linear: 2147483632 output channels; a GPU takes at most 2147483631";
  EXPECT_EQ(message_of([&] { cuda::enqueue_linear(weights, {}, nullptr); }), expected);
  EXPECT_EQ(message_of([&] { cuda::enqueue_int8_linear(weights, {}, nullptr); }), expected);
}

TEST(CudaLinear, SaysWhyItCannotRunWithoutAUsableDevice) {
  if (cuda_status().usable()) GTEST_SKIP() << "there is a GPU";
  const std::string expected = "CUDA: " + cuda_status().reason;
  EXPECT_EQ(message_of([&] { CudaLinear(ones(2, 4), {}, 0); }), expected);
  EXPECT_EQ(message_of([&] { time_linear({.in_features = 4, .out_features = 2}, 0); }), expected);
  EXPECT_EQ(message_of([&] { time_copy(1024, 1024, 0); }), expected);
}

TEST(CudaLinear, RefusesAnInputThatDoesNotFit) {
  if (!cuda_status().usable()) GTEST_SKIP() << "no GPU";
  const CudaLinear linear(ones(2, 4), {}, 0);
  EXPECT_EQ(
      message_of([&] { linear.run(FloatMatrix(FloatType::kFloat16, 1, 5), FloatType::kFloat16); }),
      "linear: x is [1, 5]; the weights take rows of 4, and at least one");
}

TEST(LinearBytes, CountWeightsScalesAndActivations) {
  EXPECT_EQ(linear_bytes({.rows = 1, .in_features = 8192, .out_features = 28672}),
            8192 * 28672 + 28672 * 4 + 2 * (8192 + 28672));
  EXPECT_EQ(linear_bytes({.rows = 2,
                          .in_features = 100,
                          .out_features = 3,
                          .group_size = 32,
                          .bits = 4,
                          .type = FloatType::kFloat32,
                          .y_type = FloatType::kFloat32,
                          .has_bias = true}),
            3 * (50 + 4 * 5 + 4) + 4 * 2 * 103);
}

}  // namespace
}  // namespace qsim::golden
