// Observers and quantizers, against their formulas written out in double.
#include <limits>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A shape of 1 to 5 axes, and strides of it as a part of a larger tensor with its axes in any
// order, of which no more than four stay apart.
struct Layout {
  Shape shape;
  Shape strides;

  explicit Layout(Random& random, std::size_t least_rank = 1) {
    const auto rank = static_cast<std::size_t>(random.uniform(static_cast<int>(least_rank), 4));
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rank; ++i) {
      shape.push_back(random.uniform(1, 7));
      order.insert(order.begin() + random.uniform(0, static_cast<std::int64_t>(i)), i);
    }
    strides.resize(rank);
    std::int64_t step = random.uniform(1, 2);
    for (const std::size_t axis : order) {
      strides[axis] = step;
      step *= shape[axis] + (random.chance(0.2) ? 1 : 0);
    }
    if (rank < 4 && random.chance(0.3)) {  // one more axis, which may join its neighbour
      shape.push_back(3);
      for (std::int64_t& stride : strides) stride *= 3;
      strides.push_back(1);
    }
  }
  std::string text() const { return shape_text(shape) + " at " + shape_text(strides); }
};

qsim_levels random_levels(Random& random) {
  qsim_levels levels = QSIM_LEVELS_INIT;
  levels.lo = static_cast<std::int32_t>(random.uniform(-128, 0));
  levels.hi = static_cast<std::int32_t>(random.uniform(1, 127));
  levels.rounding = static_cast<std::int32_t>(random.uniform(0, 1));
  return levels;
}

struct Expected {
  double q;
  bool passes;
  double residual;
};

Expected expected_level(double x, float scale, const qsim_levels& levels, std::int32_t zero_point) {
  const double quotient = static_cast<float>(x / static_cast<double>(scale));
  if (std::isnan(quotient)) {
    return {std::clamp<double>(zero_point, levels.lo, levels.hi), false, 0};
  }
  const double rounded =
      levels.rounding == QSIM_LEVEL_HALF_EVEN ? std::nearbyint(quotient) : std::trunc(quotient);
  const double level = rounded + zero_point;
  if (level < levels.lo) return {static_cast<double>(levels.lo), false, 0};
  if (level > levels.hi) return {static_cast<double>(levels.hi), false, 0};
  return {level, true, std::nearbyint(static_cast<float>(127 * (quotient - rounded)))};
}

void add_odd_numbers(Random& random, Reals& x, std::int32_t dtype) {
  if (dtype != QSIM_FLOAT32) return;
  const float odd[] = {NAN, kInfinity, -kInfinity, -0.0F, 1e-40F, 3e38F, 0.5F, 1.5F, 2.5F, -0.5F};
  for (std::int64_t i = 0; i < x.elems(); ++i) {
    if (random.chance(0.1)) x.set_float(i, odd[random.uniform(0, 9)]);
  }
}

// Sometimes of more elements than the 4,096 that are computed at once, and of no multiple of 8.
Layout some_layout(Random& random) {
  Layout layout(random);
  if (random.chance(0.05)) {
    layout.shape = {random.uniform(2, 5), 3, random.uniform(900, 999)};
    layout.strides = {};
  }
  return layout;
}

TEST(TrainLevels, LevelsBitsAndResidualsAreThoseOfTheFormula) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const Layout layout = some_layout(random);
    const std::int32_t dtype = random_real_type(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.text());
    Reals x = Reals::random(random, dtype, layout.shape, layout.strides);
    add_odd_numbers(random, x, dtype);
    const qsim_levels levels = random_levels(random);
    const float scale = random.chance(0.2) ? 1.0F : random_scales(random, 1)[0] * 8;
    const Array<float> scales(QSIM_FLOAT32, {1}, {scale});
    const Array<std::int32_t> zero_point(
        QSIM_INT32, {1}, {static_cast<std::int32_t>(random.uniform(levels.lo, levels.hi))});
    const bool shifted = random.chance(0.5);
    const Array<std::int8_t> q(QSIM_INT8, layout.shape), residual(QSIM_INT8, layout.shape);
    const Bits passes(x.elems());
    ASSERT_EQ(qsim_quantize_levels(x.tensor(), &levels, scales.tensor(),
                                   shifted ? zero_point.tensor() : nullptr, q.tensor(),
                                   passes.tensor(), residual.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    std::vector<bool> bits;
    for (std::int64_t i = 0; i < x.elems(); ++i) {
      const Expected expected =
          expected_level(x.at(i), scale, levels, shifted ? zero_point.values[0] : 0);
      bits.push_back(expected.passes);
      ASSERT_EQ(q.values[static_cast<std::size_t>(i)], expected.q) << x.at(i) << " / " << scale;
      ASSERT_EQ(residual.values[static_cast<std::size_t>(i)], expected.residual) << x.at(i);
    }
    EXPECT_EQ(passes.values, Bits::of(bits).values);
  }
}

double greatest(const Reals& w, std::int64_t channel, std::int64_t size) {
  double most = 0;
  for (std::int64_t i = channel * size; i < (channel + 1) * size; ++i) {
    if (std::isfinite(w.at(i))) most = std::max(most, std::abs(w.at(i)));
  }
  return most;
}

float expected_scale(double most, const qsim_levels& levels) {
  if (most == 0) return 1;
  if (levels.scale_kind == QSIM_SCALE_MAX) {
    return std::max(0x1p-126F, static_cast<float>(most / levels.hi));
  }
  int exponent = -126;
  while (exponent < 127 && std::ldexp(levels.hi, exponent) < most) ++exponent;
  return std::ldexp(1.0F, exponent);
}

TEST(TrainLevels, EachChannelOfWeightsHasItsScale) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    const Layout layout = some_layout(random);
    const std::int32_t dtype = random_real_type(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + layout.text());
    Reals w = Reals::random(random, dtype, layout.shape, layout.strides);
    add_odd_numbers(random, w, dtype);
    const std::int64_t channels = layout.shape[0], size = w.elems() / channels;
    if (dtype == QSIM_FLOAT32 && seed % 4 == 0) {
      for (std::int64_t i = 0; i < size; ++i) w.set_float(i, 0);
    }
    qsim_levels levels = random_levels(random);
    levels.scale_kind =
        static_cast<std::int32_t>(random.uniform(QSIM_SCALE_GIVEN, QSIM_SCALE_POWER_OF_TWO));
    const Array<float> scales(QSIM_FLOAT32, {channels}, random_scales(random, channels));
    const std::vector<float> given = scales.values;
    const Array<std::int8_t> q(QSIM_INT8, layout.shape), residual(QSIM_INT8, layout.shape);
    const Bits passes(w.elems());
    ASSERT_EQ(qsim_quantize_weights(w.tensor(), &levels, scales.tensor(), q.tensor(),
                                    passes.tensor(), residual.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    std::vector<bool> bits;
    float scale = 0;
    for (std::int64_t i = 0; i < w.elems(); ++i) {
      const auto channel = static_cast<std::size_t>(i / size);
      if (i % size == 0) {
        scale = levels.scale_kind == QSIM_SCALE_GIVEN
                    ? given[channel]
                    : expected_scale(greatest(w, i / size, size), levels);
        ASSERT_EQ(scales.values[channel], scale);
      }
      const Expected expected = expected_level(w.at(i), scale, levels, 0);
      bits.push_back(expected.passes);
      ASSERT_EQ(q.values[static_cast<std::size_t>(i)], expected.q);
      ASSERT_EQ(residual.values[static_cast<std::size_t>(i)], expected.residual);
    }
    EXPECT_EQ(passes.values, Bits::of(bits).values);
  }
}

// An observer and the state that it must have.
struct Watched {
  Array<float> state{QSIM_FLOAT32, {3}};
  Array<float> scale{QSIM_FLOAT32, {1}};
  Array<std::int32_t> zero_point{QSIM_INT32, {1}};
  float least = 0, most = 0, seen = 0;

  void expect(std::int32_t observer, float momentum, const Reals& x) {
    float from = kInfinity, to = -kInfinity;
    for (std::int64_t i = 0; i < x.elems(); ++i) {
      if (!std::isfinite(x.at(i))) continue;
      from = std::min(from, static_cast<float>(x.at(i)));
      to = std::max(to, static_cast<float>(x.at(i)));
    }
    if (from > to) return;
    if (seen == 0 || observer == QSIM_OBSERVE_LAST) {
      least = from;
      most = to;
    } else if (observer == QSIM_OBSERVE_ALL) {
      least = std::min(least, from);
      most = std::max(most, to);
    } else {
      least = least + momentum * (from - least);
      most = most + momentum * (to - most);
    }
    seen += 1;
  }
};

void expect_affine(const Watched& watched, const qsim_levels& levels) {
  const float from = std::min(watched.least, 0.0F), to = std::max(watched.most, 0.0F);
  const float scale = std::max(0x1p-126F, (to - from) / static_cast<float>(levels.hi - levels.lo));
  EXPECT_EQ(watched.scale.values[0], from == to ? 1.0F : scale);
  const double zero =
      levels.lo - static_cast<double>(std::nearbyint(from / watched.scale.values[0]));
  EXPECT_EQ(watched.zero_point.values[0], std::min<double>(zero, levels.hi));
  EXPECT_GE(watched.zero_point.values[0], levels.lo);
}

TEST(TrainLevels, AnObserverRemembersRangesOverSteps) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    qsim_levels levels = random_levels(random);
    levels.scale_kind =
        static_cast<std::int32_t>(random.uniform(QSIM_SCALE_MAX, QSIM_SCALE_AFFINE));
    const auto observer = static_cast<std::int32_t>(random.uniform(0, 2));
    const float momentum = random.chance(0.5) ? 0.1F : 0.625F;
    Watched watched;
    for (int step = 0; step < 5; ++step) {
      const Layout layout(random);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step) + ": " +
                   layout.text());
      const std::int32_t dtype = random_real_type(random);
      Reals x = Reals::random(random, dtype, layout.shape, layout.strides);
      add_odd_numbers(random, x, dtype);
      if (dtype == QSIM_FLOAT32 && step == 2) {
        for (std::int64_t i = 0; i < x.elems(); ++i) x.set_float(i, NAN);
      }
      const bool sees = !random.chance(0.1);
      ASSERT_EQ(qsim_observe(sees ? x.tensor() : nullptr, observer, momentum, &levels,
                             watched.state.tensor(), watched.scale.tensor(),
                             watched.zero_point.tensor(), nullptr),
                QSIM_OK)
          << qsim_last_error();
      if (sees) watched.expect(observer, momentum, x);
      EXPECT_EQ(watched.state.values,
                (std::vector<float>{watched.least, watched.most, watched.seen}));
      if (levels.scale_kind == QSIM_SCALE_AFFINE) {
        expect_affine(watched, levels);
        continue;
      }
      const float most = std::max(std::abs(watched.least), std::abs(watched.most));
      EXPECT_EQ(watched.scale.values[0], expected_scale(static_cast<double>(most), levels));
      EXPECT_EQ(watched.zero_point.values[0], 0);
    }
  }
}

TEST(TrainLevels, AnObserverWithGivenScalesWritesItsStateAlone) {
  Random random(1);
  const Reals x = Reals::random(random, QSIM_FLOAT32, {20});
  const Array<float> state(QSIM_FLOAT32, {3});
  const Array<float> scale(QSIM_FLOAT32, {1}, {7});
  const Array<std::int32_t> zero_point(QSIM_INT32, {1}, {7});
  qsim_levels levels = QSIM_LEVELS_INIT;
  levels.scale_kind = QSIM_SCALE_GIVEN;
  ASSERT_EQ(qsim_observe(x.tensor(), QSIM_OBSERVE_LAST, 0, &levels, state.tensor(), scale.tensor(),
                         zero_point.tensor(), nullptr),
            QSIM_OK);
  EXPECT_EQ(state.values[2], 1);
  EXPECT_EQ(scale.values[0], 7);
  EXPECT_EQ(zero_point.values[0], 7);
}

}  // namespace
}  // namespace qsim::golden_test
