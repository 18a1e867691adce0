// A chain's convolution in one call: the bits of the calls that it is made of.
#include <algorithm>
#include <cfenv>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 120;

// A random convolution of a chain, with memory for all that it writes.
struct Step {
  Random random;
  ConvCase c;
  Reals w;
  Array<float> w_scales, x_scale, bias, gamma, beta, mean, variance, y_scale, range, span;
  Array<std::int64_t> batches, norm;
  Array<std::int32_t> y_zero_point;
  Array<std::int8_t> y;
  Bits passes;
  bool has_norm, has_bias, gives_weights, measures;
  qsim_levels levels = QSIM_LEVELS_INIT;
  qsim_normalization normalization;
  qsim_chain_convolution step;

  explicit Step(std::uint64_t seed)
      : random(seed),
        c(random_conv(random)),
        w(Reals::random(random, QSIM_FLOAT32, c.w.shape,
                        random.chance(0.5) ? channels_first(c.w.shape) : Shape{})),
        w_scales(floats(c.outs())),
        x_scale(floats(1)),
        bias(floats(c.outs())),
        gamma(floats(c.outs())),
        beta(floats(c.outs())),
        mean(floats(c.outs())),
        variance(floats(c.outs())),
        y_scale(floats(1)),
        range(QSIM_FLOAT32, {2}),
        span(QSIM_FLOAT32, {1}, {random.chance(0.5) ? 127.0F : 255.0F}),
        batches(QSIM_INT64, {1}, {2}),
        norm(QSIM_BITS64, {5, c.outs()}),
        y_zero_point(QSIM_INT32, {1}, {-5}),
        y(QSIM_INT8, c.y),
        passes(c.y_elems()),
        has_norm(random.chance(0.6)),
        has_bias(random.chance(0.5)),
        gives_weights(random.chance(0.2)),
        measures(random.chance(0.4)) {
    for (float& value : gamma.values) value = random.chance(0.5) ? -value : value;
    levels.scale_kind = random.chance(0.5) ? QSIM_SCALE_MAX : QSIM_SCALE_POWER_OF_TWO;
    normalization = {sizeof(qsim_normalization), gamma.tensor(),   beta.tensor(), mean.tensor(),
                     variance.tensor(),          batches.tensor(), 1e-5,          0.1};
    const bool of_batch =
        has_norm && c.y_elems() / std::max<std::int64_t>(c.outs(), 1) >= 2 && random.chance(0.7);
    step = {sizeof(qsim_chain_convolution),
            gives_weights ? nullptr : w.tensor(),
            &levels,
            w_scales.tensor(),
            x_scale.tensor(),
            has_bias ? bias.tensor() : nullptr,
            has_norm ? norm.tensor() : nullptr,
            &normalization,
            y_zero_point.tensor(),
            y_scale.tensor(),
            range.tensor(),
            measures ? span.tensor() : nullptr,
            of_batch ? 1 : 0,
            random.chance(0.5) ? 1 : 0,
            random.chance(0.3) ? 1 : 0};
  }
  Array<float> floats(std::int64_t count) {
    return {QSIM_FLOAT32, {count}, random_scales(random, count)};
  }
  std::int64_t pixels() const { return c.y[0] * c.y[1] * c.y[2]; }
  // All that the call writes.
  std::vector<double> written() const {
    std::vector<double> all(y.values.begin(), y.values.end());
    for (const auto* values :
         {&range.values, &y_scale.values, &w_scales.values, &mean.values, &variance.values}) {
      all.insert(all.end(), values->begin(), values->end());
    }
    all.insert(all.end(), passes.values.begin(), passes.values.end());
    all.insert(all.end(), c.w.values.begin(), c.w.values.end());
    for (const std::int64_t bits : norm.values) {
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      all.push_back(value);
    }
    all.push_back(static_cast<double>(batches.values[0]));
    return all;
  }
};

void ok(qsim_status status) { ASSERT_EQ(status, QSIM_OK) << qsim_last_error(); }

// Levels by a scale; range NULL: not asked for.
void fold_and_convolve(Step& s, const qsim_tensor* y_scale, const qsim_tensor* range) {
  const bool folds = s.has_norm || s.has_bias;
  const Array<float> multipliers(QSIM_FLOAT32, {s.c.outs()});
  const Array<std::int32_t> biases(QSIM_INT32, {s.c.outs()});
  const Array<std::int8_t> used(QSIM_INT8, s.c.w.shape);
  ok(qsim_fold_levels(s.x_scale.tensor(), s.w_scales.tensor(), y_scale, s.step.norm,
                      s.has_norm ? nullptr : s.step.bias, s.c.w.tensor(), multipliers.tensor(),
                      folds ? biases.tensor() : nullptr, folds ? used.tensor() : nullptr, nullptr));
  qsim_level_conv conv = s.c.conv();
  if (folds) conv.w = used.tensor();
  ok(qsim_conv2d_levels(&conv, multipliers.tensor(), folds ? biases.tensor() : nullptr,
                        s.y_zero_point.tensor(), -128, 127, s.step.relu, s.y.tensor(),
                        s.passes.tensor(), range, nullptr));
}

float trial_of(const Step& s) {
  double most = 0;
  for (std::int64_t o = 0; o < s.c.outs(); ++o) {
    const auto i = static_cast<std::size_t>(o);
    double unit = s.x_scale.values[0] * s.w_scales.values[i];
    double gain = 1;
    if (s.has_norm) std::memcpy(&gain, &s.norm.values[i], sizeof gain);
    most = std::max(most, unit * std::abs(gain));
  }
  return std::max(static_cast<float>(most), 0x1p-60F);
}

void run_parts(Step& s) {
  const qsim_level_conv conv = s.c.conv();
  if (!s.gives_weights) {
    ok(qsim_quantize_weights(s.w.tensor(), &s.levels, s.w_scales.tensor(), s.c.w.tensor(), nullptr,
                             nullptr, nullptr));
  }
  if (s.has_norm) {
    const Array<std::int64_t> sums(QSIM_INT64, {s.c.outs(), 3});
    if (s.step.of_batch == 1) ok(qsim_conv2d_statistics(&conv, sums.tensor(), nullptr));
    ok(qsim_normalize_statistics(s.step.of_batch == 1 ? sums.tensor() : nullptr, s.pixels(),
                                 s.x_scale.tensor(), s.w_scales.tensor(), s.step.bias,
                                 &s.normalization, s.norm.tensor(), nullptr));
  }
  if (!s.measures) return fold_and_convolve(s, s.y_scale.tensor(), s.range.tensor());
  const Array<float> trial(QSIM_FLOAT32, {1}, {trial_of(s)});
  fold_and_convolve(s, trial.tensor(), s.range.tensor());
  for (float& value : s.range.values) value *= trial.values[0];
  // The scale of one observer's first range: that of qsim_observe_rows.
  const Array<float> ranges(QSIM_FLOAT32, {2, 2}, {0, 0, s.range.values[0], s.range.values[1]});
  const Array<float> units(QSIM_FLOAT32, {2}, {1, 1}), state(QSIM_FLOAT32, {2, 3});
  const Array<float> spans(QSIM_FLOAT32, {2}, {127, s.span.values[0]});
  const Array<float> scales(QSIM_FLOAT32, {2}), first(QSIM_FLOAT32, {1});
  ok(qsim_observe_rows(ranges.tensor(), units.tensor(), spans.tensor(), QSIM_OBSERVE_LAST, 0,
                       s.step.power_of_two, state.tensor(), first.tensor(), scales.tensor(),
                       nullptr));
  s.y_scale.values[0] = scales.values[1];
  fold_and_convolve(s, s.y_scale.tensor(), nullptr);
}

TEST(TrainChainConvolution, OneCallHasTheBitsOfItsSteps) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Step one(seed), parts(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + one.c.text());
    const qsim_level_conv conv = one.c.conv();
    // Not in the caller's float environment.
    std::fesetround(seed % 2 == 0 ? FE_UPWARD : FE_TOWARDZERO);
    const qsim_status status =
        qsim_chain_forward(&conv, &one.step, one.y.tensor(), one.passes.tensor(), nullptr);
    std::fesetround(FE_TONEAREST);
    ASSERT_EQ(status, QSIM_OK) << qsim_last_error();
    run_parts(parts);
    ASSERT_EQ(one.written(), parts.written());
  }
}

TEST(TrainChainConvolution, WhatIsMissingOrWrongIsRefusedAndNothingIsWritten) {
  Step s(4);
  const std::vector<double> before = s.written();
  const qsim_level_conv conv = s.c.conv();
  const auto refused = [&](const qsim_chain_convolution& step, const std::string& message) {
    EXPECT_EQ(qsim_chain_forward(&conv, &step, s.y.tensor(), s.passes.tensor(), nullptr),
              QSIM_BAD_INPUT);
    EXPECT_EQ(qsim_last_error(), message);
    EXPECT_EQ(s.written(), before) << "something was written";
  };
  qsim_chain_convolution step = s.step;
  step.struct_bytes = 3;
  refused(step,
          "chain_forward: chain_convolution: struct_bytes is 3; expected "
          "sizeof(qsim_chain_convolution), which is " +
              std::to_string(sizeof(qsim_chain_convolution)));
  step = s.step;
  step.y_scale = nullptr;
  refused(step, "chain_forward: y_scale is missing: its pointer is NULL");
  step = s.step;
  step.span = s.span.tensor();
  step.range = nullptr;
  refused(step, "chain_forward: range is missing: its pointer is NULL");
  step = s.step;
  step.norm = s.norm.tensor();
  step.normalization = nullptr;
  refused(step, "chain_forward: normalization is missing: its pointer is NULL");
  step = s.step;
  step.relu = 2;
  refused(step, "chain_forward: relu is 2; allowed: 0 and 1");
  EXPECT_EQ(qsim_chain_forward(&conv, nullptr, s.y.tensor(), nullptr, nullptr), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "chain_forward: step is missing: its pointer is NULL");
}

}  // namespace
}  // namespace qsim::golden_test
