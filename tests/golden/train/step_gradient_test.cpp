// Gradients of step sizes, and what does not pass.
#include <limits>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(TrainStepGradient, StepGradientsAreExactSumsRoundedOnce) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const Shape shape = {random.uniform(1, 5), random.uniform(1, 9), random.uniform(1, 40)};
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shape_text(shape));
    const Reals dq = Reals::random(random, QSIM_FLOAT32, shape);
    Array<std::int8_t> q(QSIM_INT8, shape), residual(QSIM_INT8, shape);
    for (std::int8_t& v : q.values) v = static_cast<std::int8_t>(random.uniform(-128, 127));
    for (std::int8_t& v : residual.values) v = static_cast<std::int8_t>(random.uniform(-127, 127));
    const Bits passes = Bits::random(random, dq.elems());
    const bool per_channel = random.chance(0.5);
    const Array<std::int32_t> zero_point(QSIM_INT32, {1},
                                         {static_cast<std::int32_t>(random.uniform(-9, 9))});
    const bool shifted = random.chance(0.5);
    const Reals dx(QSIM_FLOAT32, shape);
    const Array<float> steps(QSIM_FLOAT32, {per_channel ? shape[0] : 1});
    ASSERT_EQ(qsim_step_gradient(dq.tensor(), q.tensor(), shifted ? zero_point.tensor() : nullptr,
                                 passes.tensor(), residual.tensor(), per_channel ? 1 : 0,
                                 dx.tensor(), steps.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    std::vector<long double> sums(steps.values.size());
    for (std::int64_t i = 0; i < dq.elems(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const long double zero = shifted ? zero_point.values[0] : 0;
      const long double factor =
          passes.get(i) ? -residual.values[at] / 127.0L : q.values[at] - zero;
      sums[per_channel ? at / static_cast<std::size_t>(shape[1] * shape[2]) : 0] +=
          static_cast<long double>(dq.at(i)) * factor;
      ASSERT_EQ(dx.at(i), passes.get(i) ? dq.at(i) : 0.0);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(steps.values[i], static_cast<float>(sums[i]));
    }
  }
}

TEST(TrainStepGradient, WhatDoesNotPassHasNoPartInTheGradientNotEvenNaN) {
  Reals dy(QSIM_FLOAT32, {2, 2});
  const float values[] = {NAN, 1, kInfinity, 2};
  for (std::int64_t i = 0; i < 4; ++i) dy.set_float(i, values[i]);
  const Bits passes = Bits::of({false, true, false, true});
  const Array<std::uint16_t> g(QSIM_BFLOAT16, {2, 2});
  const Array<float> bias(QSIM_FLOAT32, {2});
  ASSERT_EQ(qsim_gradient_operand(dy.tensor(), passes.tensor(), g.tensor(), bias.tensor(), nullptr),
            QSIM_OK);
  EXPECT_EQ(g.values, (std::vector<std::uint16_t>{0, 0x3F80, 0, 0x4000}));
  EXPECT_EQ(bias.values, (std::vector<float>{0, 3}));
  ASSERT_EQ(qsim_gradient_operand(dy.tensor(), nullptr, g.tensor(), bias.tensor(), nullptr),
            QSIM_OK);
  EXPECT_EQ(g.values, (std::vector<std::uint16_t>{0x7FC0, 0x3F80, 0x7F80, 0x4000}));
  EXPECT_TRUE(std::isinf(bias.values[0]) || std::isnan(bias.values[0]));
}

// As PyTorch gives the gradient of a sum: one number at strides of 0.
TEST(TrainStepGradient, AnExpandedGradientIsReadAtItsOnePlace) {
  Array<float> dy(QSIM_FLOAT32, {2, 3, 4, 5}, {1.5F});
  dy.strides = {0, 0, 0, 0};
  const Array<std::uint16_t> g(QSIM_BFLOAT16, {2, 3, 4, 5});
  const Array<float> bias(QSIM_FLOAT32, {5});
  ASSERT_EQ(qsim_gradient_operand(dy.tensor(), nullptr, g.tensor(), bias.tensor(), nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(g.values, std::vector<std::uint16_t>(120, 0x3FC0));
  EXPECT_EQ(bias.values, std::vector<float>(5, 36));
  const qsim_levels levels = QSIM_LEVELS_INIT;
  const Array<float> scale(QSIM_FLOAT32, {1}, {0.5F});
  const Array<std::int8_t> q(QSIM_INT8, {2, 3, 4, 5});
  ASSERT_EQ(qsim_quantize_levels(dy.tensor(), &levels, scale.tensor(), nullptr, q.tensor(), nullptr,
                                 nullptr, nullptr),
            QSIM_OK)
      << qsim_last_error();
  EXPECT_EQ(q.values, std::vector<std::int8_t>(120, 3));
}

}  // namespace
}  // namespace qsim::golden_test
