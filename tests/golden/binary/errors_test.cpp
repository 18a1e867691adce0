// What binary convolution refuses, and in which words.
#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/binary/optimised_conv.h"
#include "golden/kernels/binary/threshold_fit.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "no error";
}

struct Layer {
  BitTensor input{{1, 4, 5, 10}, 2};
  BinaryConv conv;
  BinaryStage stage;

  Layer() {
    Random random(1);
    conv.weights = golden_test::random_weights(random, {3, 2, 2, 10}, 1);
    conv.window = {.kernel_h = 2, .kernel_w = 2};
    conv.beta = {1, 2};
    stage.gain = stage.shift = {1, 1, 1};
    stage.v = {0.5F};
  }
};

void expect_error(const std::string& expected, void (*change)(Layer&)) {
  Layer layer;
  change(layer);
  const std::string prefix = "binary convolution: ";
  EXPECT_EQ(error_of([&] { stage_shape(layer.conv, layer.stage, layer.input); }),
            prefix + expected);
  EXPECT_EQ(error_of([&] { OptimisedBinaryConv(layer.conv).run(layer.input, layer.stage); }),
            prefix + expected);
}

TEST(BinaryErrors, ALayerThatDoesNotFitItsInputIsRefused) {
  expect_error("the weights have 10 channels and the input 11; they must be equal", [](Layer& l) {
    l.input = BitTensor({1, 4, 5, 11}, 2);
  });
  expect_error("the window is 3x2 and the weights' kernel 2x2; they must be equal",
               [](Layer& l) { l.conv.window.kernel_h = 3; });
  expect_error("a stride or dilation is 0; each must be at least 1",
               [](Layer& l) { l.conv.window.stride_w = 0; });
  expect_error("a pad is -1; each must be at least 0",
               [](Layer& l) { l.conv.window.pad_left = -1; });
  expect_error("the kernel spans 6 pixels, and there are 5 with the pads",
               [](Layer& l) { l.conv.window.dilation_w = 5; });
  expect_error("size overflow: 9223372036854775807 + 1 does not fit 64 bits",
               [](Layer& l) { l.conv.window.dilation_h = INT64_MAX; });
  expect_error("size overflow: 5 + 9223372036854775807 does not fit 64 bits",
               [](Layer& l) { l.conv.window.pad_right = INT64_MAX; });
  expect_error("the max-pool spans 4 pixels, and there are 3 with the pads", [](Layer& l) {
    l.stage.pool = BinaryPool{4, 1};
  });
  expect_error("the max-pool has size 2 and stride 0; each must be at least 1", [](Layer& l) {
    l.stage.pool = BinaryPool{2, 0};
  });
}

TEST(BinaryErrors, ListsOfAnotherLengthAndNumbersThatAreNotFiniteAreRefused) {
  expect_error("beta has 1 numbers; expected 2", [](Layer& l) { l.conv.beta.pop_back(); });
  expect_error("alpha has 2 numbers; expected 3",
               [](Layer& l) { l.conv.weights.alpha.pop_back(); });
  expect_error("bias has 2 numbers; expected 3", [](Layer& l) { l.conv.bias = {1, 2}; });
  expect_error("gain has 4 numbers; expected 3", [](Layer& l) { l.stage.gain.push_back(1); });
  expect_error("shift has 0 numbers; expected 3", [](Layer& l) { l.stage.shift.clear(); });
  expect_error("beta[1] is not finite", [](Layer& l) { l.conv.beta[1] = NAN; });
  expect_error("v[0] is not finite", [](Layer& l) { l.stage.v[0] = INFINITY; });
}

TEST(BinaryErrors, ADotBeyondInt32IsRefused) {
  Layer layer;
  layer.conv.weights.shape = {3, 16'384, 16'384, 10};
  layer.conv.window = {
      .kernel_h = 16'384, .kernel_w = 16'384, .pad_top = 16'384, .pad_left = 16'384};
  EXPECT_EQ(error_of([&] { stage_shape(layer.conv, layer.stage, layer.input); }),
            "binary convolution: a dot has 2684354560 products; at most 1073741823");
}

TEST(BinaryErrors, WeightsAreRefusedByTheirShapeCountAndValues) {
  const std::vector<float> w(12, 1.0F);
  const auto found = [&](const WeightShape& shape, const std::vector<double>& u) {
    return error_of([&] { binarize(w, shape, u, AlphaGroup::kLayer); });
  };
  EXPECT_EQ(found({3, 0, 2, 2}, {0}),
            "binary weights have the shape [3, 0, 2, 2] [out_channels, kernel_h, kernel_w, "
            "channels]; each must be at least 1");
  EXPECT_EQ(found({3, 1, 2, 3}, {0}),
            "binary weights of the shape [3, 1, 2, 3] have 18 values; found 12");
  EXPECT_EQ(found({3, 1, 2, 2}, {}), "binary weights have 0 bases; allowed: 1 to 8");
  EXPECT_EQ(found({3, 1, 2, 2}, {0, NAN}), "u of base 1 of binary weights is not finite");
  std::vector<float> bad = w;
  bad[7] = INFINITY;
  EXPECT_EQ(error_of([&] {
              binarize(bad, {3, 1, 2, 2}, even_u(1), AlphaGroup::kLayer);
            }),
            "weight 7 is not finite; binary weights need finite numbers");
}

TEST(BinaryErrors, ActivationsAreRefusedByTheirShapeBasesAndCount) {
  EXPECT_EQ(error_of([] {
              BitTensor({1, 0, 2, 3}, 1);
            }),
            "binary activations have the shape [1, 0, 2, 3] [batch, height, width, channels]; each "
            "must be at least 1");
  EXPECT_EQ(error_of([] {
              BitTensor({1, 1, 2, 3}, 9);
            }),
            "binary activations have 9 bases; allowed: 1 to 8");
  const std::vector<float> x(5);
  const std::vector<float> v = {0.5F};
  EXPECT_EQ(error_of([&] {
              pack_activations(x, {1, 1, 2, 3}, v);
            }),
            "binary activations of the shape [1, 1, 2, 3] have 6 values; found 5");
}

TEST(BinaryErrors, SamplesOfThresholdsAreRefused) {
  const std::vector<float> samples = {1, NAN};
  EXPECT_EQ(error_of([&] { fit_activations(samples, 2); }),
            "sample 1 is not finite; thresholds are fitted to finite numbers");
  EXPECT_EQ(error_of([&] { fit_activations(samples, 9); }),
            "thresholds are fitted for 9 bases; allowed: 1 to 8");
  EXPECT_EQ(error_of([] { fit_activations({}, 2); }),
            "thresholds are fitted to no samples; give at least one");
}

TEST(BinaryErrors, APathThatTheProcessorLacksIsRefused) {
  for (const PopcountPath path : kPopcountPaths) {
    if (is_available(path)) continue;
    EXPECT_EQ(error_of([&] { popcount_kernels(path); }),
              "this processor has no " + std::string(popcount_path_name(path)) +
                  " instructions; 'auto' chooses the best path that it has");
  }
  EXPECT_EQ(popcount_path_name(resolve(PopcountPath::kPortable)), "portable");
}

}  // namespace
}  // namespace qsim::golden
