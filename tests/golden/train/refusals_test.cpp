// What the calls of qsim/training.h refuse: each with its message, and nothing is written. Empty
// tensors are allowed.
#include <functional>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

// A convolution of 2 pictures of 5 x 6 pixels and 4 channels with 6 output channels in 2 groups.
struct Call {
  Array<std::int8_t> q{QSIM_INT8, {2, 5, 6, 4}};
  Array<std::int8_t> w{QSIM_INT8, {6, 3, 3, 2}};
  Array<std::int32_t> zero_point{QSIM_INT32, {1}};
  Array<float> scale{QSIM_FLOAT32, {1}, {1}};
  Array<float> w_scales{QSIM_FLOAT32, {6}, std::vector<float>(6, 1)};
  Array<float> y{QSIM_FLOAT32, {2, 3, 4, 6}, std::vector<float>(144, 7)};
  Bits passes{144};
  qsim_window window = QSIM_WINDOW_INIT;
  qsim_tensor tq = *q.tensor(), tw = *w.tensor(), tz = *zero_point.tensor(), ts = *scale.tensor(),
              tws = *w_scales.tensor(), ty = *y.tensor(), tp = *passes.tensor();
  qsim_level_conv conv{sizeof(qsim_level_conv), &tq, &tz, &tw, &window, 2};
  std::int32_t relu = 0;

  qsim_status call() {
    return qsim_conv2d_real(&conv, &ts, &tws, nullptr, relu, &ty, &tp, nullptr);
  }
};

void expect_refused(const std::function<void(Call&)>& change, const std::string& message) {
  SCOPED_TRACE(message);
  Call call;
  change(call);
  EXPECT_EQ(call.call(), QSIM_BAD_INPUT);
  EXPECT_EQ(qsim_last_error(), message);
  EXPECT_EQ(call.y.values, std::vector<float>(144, 7)) << "something was written";
  EXPECT_EQ(call.passes.values, std::vector<std::uint8_t>(18, 0xA5)) << "something was written";
}

TEST(TrainRefusals, AConvolutionThatIsAllowedRuns) {
  Call call;
  EXPECT_EQ(call.call(), QSIM_OK) << qsim_last_error();
  EXPECT_EQ(call.y.values, std::vector<float>(144, 0));
}

TEST(TrainRefusals, AConvolutionIsDescribedWrong) {
  expect_refused([](auto& c) { c.conv.struct_bytes = 8; },
                 "conv2d_real: level_conv: struct_bytes is 8; expected sizeof(qsim_level_conv), "
                 "which is " +
                     std::to_string(sizeof(qsim_level_conv)));
  expect_refused([](auto& c) { c.conv.q = nullptr; },
                 "conv2d_real: q is missing: its pointer is NULL");
  expect_refused([](auto& c) { c.tq.dtype = QSIM_UINT8; },
                 "conv2d_real: q has elements of uint8; allowed: int8");
  expect_refused([](auto& c) { c.tw.data = nullptr; }, "conv2d_real: w has no data");
  expect_refused([](auto& c) { c.conv.groups = 0; },
                 "conv2d_real: groups is 0; allowed: 1 and more");
  expect_refused([](auto& c) { c.conv.groups = 4; },
                 "conv2d_real: groups: 4 groups do not divide 4 input channels and 6 output "
                 "channels");
  expect_refused([](auto& c) { c.conv.groups = 1; },
                 "conv2d_real: w has the shape [6, 3, 3, 2]; expected [6, 3, 3, 4]");
  expect_refused([](auto& c) { c.zero_point.values[0] = 128; },
                 "conv2d_real: zero_point is 128; allowed: -128 to 127");
  expect_refused([](auto& c) { c.relu = 2; }, "conv2d_real: relu is 2; allowed: 0 and 1");
  expect_refused([](auto& c) { c.y.shape[1] = 4; },
                 "conv2d_real: y has the shape [2, 4, 4, 6]; expected [2, 3, 4, 6]");
  expect_refused([](auto& c) { c.w_scales.shape[0] = 1; },
                 "conv2d_real: w_scales has the shape [1]; expected [6]");
  expect_refused([](auto& c) { c.passes.shape[0] = 144; },
                 "conv2d_real: passes has the shape [144]; expected [18]");
}

TEST(TrainRefusals, AWindowThatIsNotAllowed) {
  expect_refused([](auto& c) { c.window.stride_w = 0; },
                 "conv2d_real: stride_w is 0; allowed: 1 to 2147483647");
  expect_refused([](auto& c) { c.window.dilation_h = -1; },
                 "conv2d_real: dilation_h is -1; allowed: 1 to 2147483647");
  expect_refused([](auto& c) { c.window.pad_left = -2; },
                 "conv2d_real: pad_left is -2; allowed: 0 to 2147483647");
  expect_refused([](auto& c) { c.window.dilation_h = 3; },
                 "conv2d_real: window spans 7 rows; the picture with its pads has 5");
  expect_refused([](auto& c) { c.window.pad_top = std::int64_t{1} << 40; },
                 "conv2d_real: a number of the window is 1099511627776; allowed: -2147483648 to "
                 "2147483647");
  Array<std::int8_t> q(QSIM_INT8, {1, 4, 4, 2}), y(QSIM_INT8, {1, 3, 3, 2});
  const qsim_window window = {2, 2, 2, 0, 0, 2, 1, 1};
  EXPECT_EQ(qsim_max_pool_levels(q.tensor(), 2, 2, &window, y.tensor(), nullptr), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "max_pool_levels: window 0 of the rows has pads alone");
  EXPECT_EQ(qsim_max_pool_levels(q.tensor(), 0, 2, nullptr, y.tensor(), nullptr), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "max_pool_levels: kernel_h is 0; allowed: 1 to 2147483647");
}

void expect_levels_refused(const std::function<void(qsim_levels&)>& change,
                           const std::string& message) {
  SCOPED_TRACE(message);
  const Array<float> w(QSIM_FLOAT32, {2, 3}), scales(QSIM_FLOAT32, {2});
  const Array<std::int8_t> q(QSIM_INT8, {2, 3}, std::vector<std::int8_t>(6, 7));
  qsim_levels levels = QSIM_LEVELS_INIT;
  change(levels);
  EXPECT_EQ(qsim_quantize_weights(w.tensor(), &levels, scales.tensor(), q.tensor(), nullptr,
                                  nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_EQ(qsim_last_error(), message);
  EXPECT_EQ(q.values, std::vector<std::int8_t>(6, 7)) << "something was written";
}

TEST(TrainRefusals, LevelsThatAreNotAllowed) {
  expect_levels_refused([](auto& l) { l.struct_bytes = 1; },
                        "quantize_weights: levels: struct_bytes is 1; expected "
                        "sizeof(qsim_levels), which is " +
                            std::to_string(sizeof(qsim_levels)));
  expect_levels_refused([](auto& l) { l.lo = 1; }, "quantize_weights: lo is 1; allowed: -128 to 0");
  expect_levels_refused([](auto& l) { l.hi = 0; }, "quantize_weights: hi is 0; allowed: 1 to 127");
  expect_levels_refused([](auto& l) { l.rounding = 2; },
                        "quantize_weights: rounding is 2; allowed: 0 to 1");
  expect_levels_refused([](auto& l) { l.scale_kind = QSIM_SCALE_AFFINE; },
                        "quantize_weights: scale_kind is 3; allowed: 0 to 2");
}

TEST(TrainRefusals, AnObserverIsDescribedWrong) {
  const Array<float> x(QSIM_FLOAT32, {5}), state(QSIM_FLOAT32, {3}), scale(QSIM_FLOAT32, {1});
  qsim_levels levels = QSIM_LEVELS_INIT;
  const auto observe = [&](std::int32_t observer, float momentum, const qsim_tensor* to) {
    EXPECT_EQ(
        qsim_observe(x.tensor(), observer, momentum, &levels, state.tensor(), to, nullptr, nullptr),
        QSIM_BAD_INPUT);
    return std::string(qsim_last_error());
  };
  EXPECT_EQ(observe(3, 0, scale.tensor()), "observe: observer is 3; allowed: 0 to 2");
  EXPECT_EQ(observe(QSIM_OBSERVE_AVERAGE, 1.5F, scale.tensor()),
            "observe: momentum is 1.500000; allowed: 0 to 1");
  EXPECT_EQ(observe(0, 0, nullptr), "observe: scale is missing: its pointer is NULL");
  levels.scale_kind = QSIM_SCALE_AFFINE;
  EXPECT_EQ(observe(0, 0, scale.tensor()), "observe: zero_point is missing: its pointer is NULL");
}

TEST(TrainRefusals, WeightsOfOneScaleHaveAxesThatJoin) {
  const Array<float> x(QSIM_FLOAT32, {1, 3, 3, 2}), y(QSIM_FLOAT32, {1, 2, 2, 2});
  const Array<float> w = Array<float>(QSIM_FLOAT32, {2, 2, 2, 2}).spread();
  const Array<float> scale(QSIM_FLOAT32, {1});
  const qsim_levels levels = QSIM_LEVELS_INIT;
  const qsim_window window = QSIM_WINDOW_INIT;
  qsim_layer layer{};
  layer.struct_bytes = sizeof(qsim_layer);
  layer.levels = layer.w_levels = &levels;
  layer.scale = scale.tensor();
  layer.w = w.tensor();
  layer.window = &window;
  layer.groups = 1;
  layer.one_scale = 1;
  EXPECT_EQ(qsim_layer_forward(&layer, x.tensor(), 0, 0, nullptr, y.tensor(), nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(),
               "layer_forward: w has 4 axes that do not join; allowed with one_scale: 3");
}

TEST(TrainRefusals, AxesThatDoNotJoinAndAScalarOfWeights) {
  const Array<float> x = Array<float>(QSIM_FLOAT32, {2, 2, 2, 2, 2}).spread();
  const Array<float> scale(QSIM_FLOAT32, {1}), scales(QSIM_FLOAT32, {2});
  const Array<std::int8_t> q(QSIM_INT8, {2, 2, 2, 2, 2});
  const qsim_levels levels = QSIM_LEVELS_INIT;
  EXPECT_EQ(qsim_quantize_levels(x.tensor(), &levels, scale.tensor(), nullptr, q.tensor(), nullptr,
                                 nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "quantize_levels: x has 5 axes that do not join; allowed: 4");
  const Array<float> scalar(QSIM_FLOAT32, {});
  EXPECT_EQ(qsim_quantize_weights(scalar.tensor(), &levels, scales.tensor(), q.tensor(), nullptr,
                                  nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "quantize_weights: w has 0 dimensions; allowed: 1 to 16");
}

TEST(TrainRefusals, AQueryOnTheCpuNeedsNoWorkspaceAndComputesNothing) {
  Call call;
  std::size_t bytes = 77;
  qsim_run run = QSIM_RUN_INIT;
  run.workspace_query = &bytes;
  EXPECT_EQ(qsim_conv2d_real(&call.conv, &call.ts, &call.tws, nullptr, 0, &call.ty, nullptr, &run),
            QSIM_OK);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(call.y.values[0], 7);
}

TEST(TrainEmpty, NoPicturesGiveZeroSumsAndNoOutputs) {
  const Array<std::int8_t> q(QSIM_INT8, {0, 5, 5, 3}), w(QSIM_INT8, {4, 3, 3, 3});
  const qsim_level_conv conv{sizeof(qsim_level_conv), q.tensor(), nullptr, w.tensor(), nullptr, 1};
  const Array<float> scale(QSIM_FLOAT32, {1}, {1}), w_scales(QSIM_FLOAT32, {4});
  const Array<float> y(QSIM_FLOAT32, {0, 3, 3, 4}), dx(QSIM_FLOAT32, {0, 5, 5, 3});
  const Array<std::uint16_t> g(QSIM_BFLOAT16, {0, 3, 3, 4});
  const Array<std::int64_t> sums(QSIM_INT64, {4, 3}, std::vector<std::int64_t>(12, 7));
  const Array<float> bias(QSIM_FLOAT32, {4}, std::vector<float>(4, 7));
  const Array<float> dw(QSIM_FLOAT32, {4, 3, 3, 3}, std::vector<float>(108, 7));
  EXPECT_EQ(qsim_conv2d_real(&conv, scale.tensor(), w_scales.tensor(), nullptr, 1, y.tensor(),
                             nullptr, nullptr),
            QSIM_OK);
  EXPECT_EQ(qsim_conv2d_statistics(&conv, sums.tensor(), nullptr), QSIM_OK);
  EXPECT_EQ(qsim_gradient_operand(y.tensor(), nullptr, g.tensor(), bias.tensor(), nullptr),
            QSIM_OK);
  EXPECT_EQ(qsim_conv2d_input_gradient(&conv, w_scales.tensor(), g.tensor(), nullptr, dx.tensor(),
                                       nullptr),
            QSIM_OK);
  EXPECT_EQ(
      qsim_conv2d_weight_gradient(&conv, scale.tensor(), g.tensor(), nullptr, dw.tensor(), nullptr),
      QSIM_OK);
  EXPECT_EQ(sums.values, std::vector<std::int64_t>(12));
  EXPECT_EQ(bias.values, std::vector<float>(4));
  EXPECT_EQ(dw.values, std::vector<float>(108));
}

TEST(TrainEmpty, NoChannelsGiveTheBias) {
  const Array<std::int8_t> q(QSIM_INT8, {1, 2, 2, 0}), w(QSIM_INT8, {3, 1, 1, 0});
  const qsim_level_conv conv{sizeof(qsim_level_conv), q.tensor(), nullptr, w.tensor(), nullptr, 1};
  const Array<float> scale(QSIM_FLOAT32, {1}, {1});
  const Array<float> bias(QSIM_FLOAT32, {3}, {1, 2, 3});
  const Array<float> y(QSIM_FLOAT32, {1, 2, 2, 3});
  ASSERT_EQ(qsim_conv2d_real(&conv, scale.tensor(), bias.tensor(), bias.tensor(), 0, y.tensor(),
                             nullptr, nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(y.values, (std::vector<float>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(TrainEmpty, AnEmptyTensorIsNotSeenAndHasNoLevels) {
  const Array<float> x(QSIM_FLOAT32, {3, 0, 2}), state(QSIM_FLOAT32, {3}, {-1, 2, 5});
  const Array<float> scale(QSIM_FLOAT32, {1}), step(QSIM_FLOAT32, {3}, {7, 7, 7});
  const Array<std::int8_t> q(QSIM_INT8, {3, 0, 2});
  const Bits passes(0);
  const qsim_levels levels = QSIM_LEVELS_INIT;
  EXPECT_EQ(qsim_observe(x.tensor(), QSIM_OBSERVE_LAST, 0, &levels, state.tensor(), scale.tensor(),
                         nullptr, nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(state.values, (std::vector<float>{-1, 2, 5}));
  EXPECT_EQ(scale.values[0], 2.0F / 127);
  EXPECT_EQ(qsim_quantize_levels(x.tensor(), &levels, scale.tensor(), nullptr, q.tensor(),
                                 passes.tensor(), nullptr, nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(qsim_step_gradient(x.tensor(), q.tensor(), nullptr, passes.tensor(), q.tensor(), 1,
                               x.tensor(), step.tensor(), nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(step.values, std::vector<float>(3));
  EXPECT_EQ(qsim_quantize_weights(x.tensor(), &levels, step.tensor(), q.tensor(), nullptr, nullptr,
                                  nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(step.values, std::vector<float>(3, 1)) << "scales of channels without weights";
}

}  // namespace
}  // namespace qsim::golden_test
