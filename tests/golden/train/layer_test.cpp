// A layer's passes in one call each: the bits of the calls that they are made of.
#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 100;

// A random layer, its input and all that the separate calls make of it.
struct Layer {
  Random random;
  ConvCase c;
  std::int32_t dtype, relu, observer;
  Reals x, w;
  Array<float> state, scale, bias, w_scales;
  Array<std::int32_t> zero_point{QSIM_INT32, {1}};
  qsim_levels levels = QSIM_LEVELS_INIT, w_levels = QSIM_LEVELS_INIT;

  explicit Layer(std::uint64_t seed)
      : random(seed),
        c(random_conv(random)),
        dtype(random_real_type(random)),
        relu(random.chance(0.5) ? 1 : 0),
        observer(static_cast<std::int32_t>(random.uniform(0, 2))),
        x(Reals::random(random, dtype, c.q.shape,
                        random.chance(0.5) ? channels_first(c.q.shape) : Shape{})),
        w(Reals::random(random, random_real_type(random), c.w.shape,
                        random.chance(0.5) ? channels_first(c.w.shape) : Shape{})),
        state(QSIM_FLOAT32, {3}, {-0.5F, 2, static_cast<float>(random.uniform(0, 2))}),
        scale(QSIM_FLOAT32, {1}, {0.03F}),
        bias(QSIM_FLOAT32, {c.outs()}, random_scales(random, c.outs())),
        w_scales(QSIM_FLOAT32, {c.outs()}) {
    levels.lo = -128;
    levels.scale_kind = c.has_zero_point ? QSIM_SCALE_AFFINE : QSIM_SCALE_MAX;
    levels.rounding = w_levels.rounding = random.chance(0.5) ? 1 : 0;
    w_levels.scale_kind = random.chance(0.5) ? QSIM_SCALE_MAX : QSIM_SCALE_POWER_OF_TWO;
  }
  const qsim_tensor* point() const { return c.has_zero_point ? zero_point.tensor() : nullptr; }
  qsim_layer layer() {
    return {
        sizeof(qsim_layer), &levels,  &w_levels, scale.tensor(), point(), w.tensor(), bias.tensor(),
        &c.window,          c.groups, nullptr,   relu,           0,       0};
  }
  Shape memory(const Shape& shape) { return random.chance(0.5) ? channels_first(shape) : Shape{}; }
  std::int64_t x_elems() const { return element_count(c.q.shape); }
  std::int64_t w_elems() const { return element_count(c.w.shape); }
};

// What the separate calls make.
struct Parts {
  Array<std::int8_t> q, w_q;
  Bits x_passes, w_passes, y_passes;
  Reals y;

  Parts(Layer& l, bool observes)
      : q(QSIM_INT8, l.c.q.shape),
        w_q(QSIM_INT8, l.c.w.shape),
        x_passes(l.x_elems()),
        w_passes(l.w_elems()),
        y_passes(l.c.y_elems()),
        y(l.dtype, l.c.y) {
    const auto ok = [](qsim_status status) { EXPECT_EQ(status, QSIM_OK) << qsim_last_error(); };
    if (observes) {
      ok(qsim_observe(l.x.tensor(), l.observer, 0.25F, &l.levels, l.state.tensor(),
                      l.scale.tensor(), l.point(), nullptr));
    }
    qsim_levels given = l.levels;
    given.scale_kind = QSIM_SCALE_GIVEN;
    ok(qsim_quantize_levels(l.x.tensor(), &given, l.scale.tensor(), l.point(), q.tensor(),
                            x_passes.tensor(), nullptr, nullptr));
    ok(qsim_quantize_weights(l.w.tensor(), &l.w_levels, l.w_scales.tensor(), w_q.tensor(),
                             w_passes.tensor(), nullptr, nullptr));
    const qsim_level_conv conv = {
        sizeof(qsim_level_conv), q.tensor(), l.point(), w_q.tensor(), &l.c.window, l.c.groups};
    ok(qsim_conv2d_real(&conv, l.scale.tensor(), l.w_scales.tensor(), l.bias.tensor(), l.relu,
                        y.tensor(), y_passes.tensor(), nullptr));
  }
};

std::vector<double> values_of(const Reals& reals) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < reals.elems(); ++i) result.push_back(reals.at(i));
  return result;
}

struct Shapes {
  qsim_tensor q, w;
  qsim_level_conv conv;
  explicit Shapes(const Layer& l)
      : q(*l.c.q.tensor()),
        w(*l.c.w.tensor()),
        conv{sizeof(qsim_level_conv), &q, l.point(), &w, &l.c.window, l.c.groups} {
    q.data = w.data = nullptr;
  }
};

Array<std::uint8_t> kept_of(const Shapes& shapes, std::int32_t relu) {
  std::size_t bytes = 0;
  EXPECT_EQ(qsim_layer_kept_bytes(&shapes.conv, relu, 0, &bytes), QSIM_OK) << qsim_last_error();
  return {QSIM_UINT8, {static_cast<std::int64_t>(bytes)}};
}

TEST(TrainLayer, ForwardHasTheBitsOfItsStepsAndKeepsWhatBackwardNeeds) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Layer one(seed), other(seed);
    const bool observes = seed % 3 != 0;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + one.c.text());
    const Parts parts(other, observes);
    const Shapes shapes(one);
    const Array<std::uint8_t> kept = kept_of(shapes, one.relu);
    const Reals y(one.dtype, one.c.y, one.memory(one.c.y));
    const qsim_layer layer = one.layer();
    ASSERT_EQ(qsim_layer_forward(&layer, one.x.tensor(), one.observer, 0.25F,
                                 observes ? one.state.tensor() : nullptr, y.tensor(), kept.tensor(),
                                 nullptr),
              QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(values_of(y), values_of(parts.y));
    EXPECT_EQ(one.state.values, other.state.values);
    EXPECT_EQ(one.scale.values, other.scale.values);
    EXPECT_EQ(one.zero_point.values, other.zero_point.values);
    const Reals again(one.dtype, one.c.y);
    ASSERT_EQ(
        qsim_layer_forward(&layer, one.x.tensor(), 0, 0, nullptr, again.tensor(), nullptr, nullptr),
        QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(values_of(again), values_of(parts.y)) << "without what backward needs";

    // Backward has the scale and the zero_point of its forward pass, whatever became of them.
    one.scale.values[0] = 77;
    one.zero_point.values[0] = 1;
    const Reals dy = Reals::random(one.random, one.dtype, one.c.y, one.memory(one.c.y));
    const Reals dx(one.dtype, one.c.q.shape, one.memory(one.c.q.shape)),
        dx_parts(one.dtype, one.c.q.shape);
    const Reals dw(QSIM_FLOAT32, one.c.w.shape, one.memory(one.c.w.shape)),
        dw_parts(QSIM_FLOAT32, one.c.w.shape);
    const Array<float> db(QSIM_FLOAT32, {one.c.outs()}), db_parts(QSIM_FLOAT32, {one.c.outs()});
    ASSERT_EQ(qsim_layer_backward(&shapes.conv, one.relu, 0, kept.tensor(), dy.tensor(),
                                  dx.tensor(), dw.tensor(), db.tensor(), nullptr, nullptr, nullptr),
              QSIM_OK)
        << qsim_last_error();
    const Array<std::uint16_t> g(QSIM_BFLOAT16, one.c.y);
    const auto ok = [](qsim_status status) { EXPECT_EQ(status, QSIM_OK) << qsim_last_error(); };
    ok(qsim_gradient_operand(dy.tensor(), one.relu == 1 ? parts.y_passes.tensor() : nullptr,
                             g.tensor(), db_parts.tensor(), nullptr));
    const qsim_level_conv conv = {sizeof(qsim_level_conv), parts.q.tensor(), other.point(),
                                  parts.w_q.tensor(),      &one.c.window,    one.c.groups};
    ok(qsim_conv2d_input_gradient(&conv, other.w_scales.tensor(), g.tensor(),
                                  parts.x_passes.tensor(), dx_parts.tensor(), nullptr));
    ok(qsim_conv2d_weight_gradient(&conv, other.scale.tensor(), g.tensor(), parts.w_passes.tensor(),
                                   dw_parts.tensor(), nullptr));
    EXPECT_EQ(values_of(dx), values_of(dx_parts));
    EXPECT_EQ(values_of(dw), values_of(dw_parts));
    EXPECT_EQ(db.values, db_parts.values);
  }
}

TEST(TrainLayer, OneScaleForAllWeightsAndGivenStepsAreThoseOfEachChannel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Layer one(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + one.c.text());
    double most = 0;
    for (std::int64_t i = 0; i < one.w.elems(); ++i) most = std::max(most, std::abs(one.w.at(i)));
    const float scale = most == 0 ? 1 : static_cast<float>(most) / 127;
    const Array<float> step(QSIM_FLOAT32, {1}, {scale});
    const Array<float> steps(QSIM_FLOAT32, {one.c.outs()},
                             std::vector<float>(static_cast<std::size_t>(one.c.outs()), scale));
    const auto y_of = [&](const qsim_tensor* w_steps, std::int32_t one_scale) {
      one.w_levels.scale_kind = w_steps == nullptr ? QSIM_SCALE_MAX : QSIM_SCALE_GIVEN;
      qsim_layer layer = one.layer();
      layer.w_steps = w_steps;
      layer.one_scale = one_scale;
      const Reals y(one.dtype, one.c.y);
      EXPECT_EQ(
          qsim_layer_forward(&layer, one.x.tensor(), 0, 0, nullptr, y.tensor(), nullptr, nullptr),
          QSIM_OK)
          << qsim_last_error();
      return values_of(y);
    };
    const std::vector<double> expected = y_of(steps.tensor(), 0);
    EXPECT_EQ(y_of(step.tensor(), 1), expected);
    EXPECT_EQ(y_of(nullptr, 1), expected) << "the scale of the greatest weight";
  }
}

TEST(TrainLayer, AGradientOfBfloat16IsTheOperandItselfAndEachResultMayBeLeftOut) {
  Layer l(7);
  l.relu = 0;
  const Shapes shapes(l);
  const Array<std::uint8_t> kept = kept_of(shapes, 0);
  const Reals y(l.dtype, l.c.y);
  const qsim_layer layer = l.layer();
  ASSERT_EQ(
      qsim_layer_forward(&layer, l.x.tensor(), 0, 0, nullptr, y.tensor(), kept.tensor(), nullptr),
      QSIM_OK);
  const Reals dy = Reals::random(l.random, QSIM_BFLOAT16, l.c.y);
  const auto run = [&](const qsim_tensor* dx, const qsim_tensor* dw, const qsim_tensor* db) {
    EXPECT_EQ(qsim_layer_backward(&shapes.conv, 0, 0, kept.tensor(), dy.tensor(), dx, dw, db,
                                  nullptr, nullptr, nullptr),
              QSIM_OK)
        << qsim_last_error();
  };
  const Reals dx(l.dtype, l.c.q.shape), dx_alone(l.dtype, l.c.q.shape);
  const Reals dw(QSIM_FLOAT32, l.c.w.shape), dw_alone(QSIM_FLOAT32, l.c.w.shape);
  const Array<float> db(QSIM_FLOAT32, {l.c.outs()}), db_alone(QSIM_FLOAT32, {l.c.outs()});
  run(dx.tensor(), dw.tensor(), db.tensor());
  run(dx_alone.tensor(), nullptr, nullptr);
  run(nullptr, dw_alone.tensor(), nullptr);
  run(nullptr, nullptr, db_alone.tensor());
  EXPECT_EQ(values_of(dx), values_of(dx_alone));
  EXPECT_EQ(values_of(dw), values_of(dw_alone));
  EXPECT_EQ(db.values, db_alone.values);
}

TEST(TrainLayer, WhatIsNotALayerIsRefusedWithItsMessage) {
  Layer l(3);
  Shapes shapes(l);
  Array<std::uint8_t> kept = kept_of(shapes, l.relu);
  const Reals y(l.dtype, l.c.y);
  qsim_layer layer = l.layer();
  const auto refused = [&](const std::string& message, const qsim_tensor* x) {
    EXPECT_EQ(
        qsim_layer_forward(&layer, x, 0, 0, l.state.tensor(), y.tensor(), kept.tensor(), nullptr),
        QSIM_BAD_INPUT);
    EXPECT_EQ(qsim_last_error(), message);
    EXPECT_EQ(l.state.values[0], -0.5F) << "something was written";
  };
  refused("layer_forward: x is missing: its pointer is NULL", nullptr);
  layer.struct_bytes = 8;
  refused("layer_forward: layer: struct_bytes is 8; expected sizeof(qsim_layer), which is " +
              std::to_string(sizeof(qsim_layer)),
          l.x.tensor());
  layer = l.layer();
  l.w_levels.scale_kind = QSIM_SCALE_GIVEN;
  refused("layer_forward: scale_kind of w_levels is 0; allowed: 1 to 2", l.x.tensor());
  l.w_levels.scale_kind = QSIM_SCALE_MAX;
  l.levels.scale_kind = QSIM_SCALE_AFFINE;
  layer.zero_point = nullptr;
  refused("layer_forward: zero_point is missing: its pointer is NULL", l.x.tensor());
  layer = l.layer();
  l.levels.scale_kind = QSIM_SCALE_MAX;
  const std::string bytes = std::to_string(kept.shape[0]);
  kept.shape[0] -= 1;
  refused("layer_forward: kept has the shape [" + std::to_string(kept.shape[0]) + "]; expected [" +
              bytes + "]",
          l.x.tensor());
  kept.shape[0] += 1;
  l.levels.scale_kind = QSIM_SCALE_MAX;
  const Reals half(QSIM_FLOAT16, l.c.q.shape);
  std::size_t bytes_with_residuals = 0;
  ASSERT_EQ(qsim_layer_kept_bytes(&shapes.conv, l.relu, 1, &bytes_with_residuals), QSIM_OK);
  const Array<std::uint8_t> all(QSIM_UINT8, {static_cast<std::int64_t>(bytes_with_residuals)});
  const Reals dy(l.dtype, l.c.y);
  EXPECT_EQ(qsim_layer_backward(&shapes.conv, l.relu, 1, all.tensor(), dy.tensor(), half.tensor(),
                                nullptr, nullptr, nullptr, nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(),
               "layer_backward: dx has gaps, or no elements of float32; allowed "
               "with residuals: neither");
  EXPECT_EQ(qsim_layer_backward(&shapes.conv, l.relu, 0, nullptr, dy.tensor(), nullptr, nullptr,
                                nullptr, nullptr, nullptr, nullptr),
            QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "layer_backward: kept is missing: its pointer is NULL");
  EXPECT_EQ(qsim_layer_kept_bytes(&shapes.conv, l.relu, 0, nullptr), QSIM_BAD_INPUT);
  EXPECT_STREQ(qsim_last_error(), "layer_kept_bytes: bytes is missing: its pointer is NULL");
}

TEST(TrainLayer, NoPicturesGiveZeroGradientsOfTheWeights) {
  const Reals x(QSIM_FLOAT32, {0, 5, 5, 3}), y(QSIM_FLOAT32, {0, 3, 3, 4});
  const Array<float> w(QSIM_FLOAT32, {4, 3, 3, 3}, std::vector<float>(108, 1));
  const Array<float> scale(QSIM_FLOAT32, {1}, {1});
  const Array<float> dw(QSIM_FLOAT32, {4, 3, 3, 3}, std::vector<float>(108, 7));
  const Array<float> db(QSIM_FLOAT32, {4}, std::vector<float>(4, 7));
  const qsim_levels levels = QSIM_LEVELS_INIT;
  qsim_layer layer = {};
  layer.struct_bytes = sizeof layer;
  layer.levels = layer.w_levels = &levels;
  layer.scale = scale.tensor();
  layer.w = w.tensor();
  layer.groups = layer.relu = 1;
  const Array<std::int8_t> q(QSIM_INT8, {0, 5, 5, 3}), w_q(QSIM_INT8, {4, 3, 3, 3});
  const qsim_level_conv conv = {
      sizeof(qsim_level_conv), q.tensor(), nullptr, w_q.tensor(), nullptr, 1};
  std::size_t bytes = 0;
  ASSERT_EQ(qsim_layer_kept_bytes(&conv, 1, 0, &bytes), QSIM_OK) << qsim_last_error();
  const Array<std::uint8_t> kept(QSIM_UINT8, {static_cast<std::int64_t>(bytes)});
  EXPECT_EQ(
      qsim_layer_forward(&layer, x.tensor(), 0, 0, nullptr, y.tensor(), kept.tensor(), nullptr),
      QSIM_OK);
  EXPECT_EQ(qsim_layer_backward(&conv, 1, 0, kept.tensor(), y.tensor(), x.tensor(), dw.tensor(),
                                db.tensor(), nullptr, nullptr, nullptr),
            QSIM_OK);
  EXPECT_EQ(dw.values, std::vector<float>(108));
  EXPECT_EQ(db.values, std::vector<float>(4));
}

}  // namespace
}  // namespace qsim::golden_test
