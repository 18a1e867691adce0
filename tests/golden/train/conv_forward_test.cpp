// The forward pass of training convolutions and their sums for normalization, against plain loops.
#include <cstring>

#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 60;

float product(float a, float b) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}

// A case drawn from a seed, and the generator that goes on from there.
struct Drawn {
  Random random;
  ConvCase c;
  explicit Drawn(std::uint64_t seed) : random(seed), c(random_conv(random)) {}
};

TEST(TrainConv, RealOutputsHaveTheBitsOfThePlainFormula) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Drawn drawn(seed);
    Random& random = drawn.random;
    const ConvCase& c = drawn.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const Array<float> scale(QSIM_FLOAT32, {1}, random_scales(random, 1));
    const Array<float> w_scales(QSIM_FLOAT32, {c.outs()}, random_scales(random, c.outs()));
    Array<float> bias(QSIM_FLOAT32, {c.outs()}, random_scales(random, c.outs()));
    for (float& b : bias.values) b *= static_cast<float>(random.uniform(-1, 1)) * 99;
    const bool has_bias = random.chance(0.5);
    const bool relu = random.chance(0.5);
    const std::int32_t dtype = random_real_type(random);
    const Reals y(dtype, c.y, random.chance(0.5) ? channels_first(c.y) : Shape{});
    const Bits passes(c.y_elems());
    const qsim_level_conv conv = c.conv();
    ASSERT_EQ(qsim_conv2d_real(&conv, scale.tensor(), w_scales.tensor(),
                               has_bias ? bias.tensor() : nullptr, relu ? 1 : 0, y.tensor(),
                               passes.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    const std::vector<std::int64_t> sums = c.sums();
    std::vector<bool> positive;
    for (std::int64_t i = 0; i < c.y_elems(); ++i) {
      const auto o = static_cast<std::size_t>(i % c.outs());
      const auto acc = static_cast<float>(sums[static_cast<std::size_t>(i)]);
      float value = product(acc, product(scale.values[0], w_scales.values[o]));
      if (has_bias) value = value + bias.values[o];
      positive.push_back(!relu || value > 0);
      if (relu && !(value > 0)) value = 0;
      ASSERT_EQ(y.at(i), rounded_to(dtype, static_cast<double>(value))) << "element " << i;
    }
    EXPECT_EQ(passes.values, Bits::of(positive).values);
  }
}

struct LevelsCall {
  Array<float> multipliers{QSIM_FLOAT32, {}};
  Array<std::int32_t> bias{QSIM_INT32, {}};
  Array<std::int32_t> zero_point{QSIM_INT32, {1}};
  std::int32_t lo, hi;
  bool relu;

  LevelsCall(Random& random, const ConvCase& c) {
    const std::int64_t outs = c.outs();
    multipliers = {QSIM_FLOAT32, {outs}, random_scales(random, outs)};
    for (float& m : multipliers.values) m *= random.chance(0.2) ? -1.0F : 1.0F;
    bias = {QSIM_INT32, {outs}, random_integers(random, outs, 20000)};
    zero_point.values[0] = static_cast<std::int32_t>(random.uniform(-20, 20));
    lo = static_cast<std::int32_t>(random.uniform(-128, -90));
    hi = static_cast<std::int32_t>(random.uniform(90, 127));
    relu = random.chance(0.5);
  }
};

TEST(TrainConv, LevelsBitsAndRangeAreThoseOfThePlainFormula) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Drawn drawn(seed);
    const ConvCase& c = drawn.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const LevelsCall call(drawn.random, c);
    const Array<std::int8_t> y(QSIM_INT8, c.y);
    const Bits passes(c.y_elems());
    const Array<float> range(QSIM_FLOAT32, {2}, {7, 7});
    const qsim_level_conv conv = c.conv();
    ASSERT_EQ(qsim_conv2d_levels(&conv, call.multipliers.tensor(), call.bias.tensor(),
                                 call.zero_point.tensor(), call.lo, call.hi, call.relu ? 1 : 0,
                                 y.tensor(), passes.tensor(), range.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    const std::vector<std::int64_t> sums = c.sums();
    std::vector<bool> kept;
    float least = 0, most = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t o = i % static_cast<std::size_t>(c.outs());
      float t =
          product(static_cast<float>(sums[i] + call.bias.values[o]), call.multipliers.values[o]);
      const bool below = call.relu && t <= 0;
      if (below) t = 0;
      least = std::min(least, t);
      most = std::max(most, t);
      const double level = std::nearbyint(static_cast<double>(t)) + call.zero_point.values[0];
      const double clamped = std::clamp<double>(level, call.lo, call.hi);
      kept.push_back(level == clamped && !below);
      ASSERT_EQ(y.values[i], clamped) << "element " << i;
    }
    EXPECT_EQ(passes.values, Bits::of(kept).values);
    EXPECT_EQ(range.values, (std::vector<float>{least, most}));
  }
}

TEST(TrainConv, LevelsAreTheBytesOfTheInferenceConvolutionThatRoundsInFloat32) {
  for (std::uint64_t seed = 101; seed <= 100 + kSeeds; ++seed) {
    Drawn drawn(seed);
    const ConvCase& c = drawn.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    LevelsCall call(drawn.random, c);
    for (float& m : call.multipliers.values) m = std::abs(m);
    const Array<std::int8_t> y(QSIM_INT8, c.y), other(QSIM_INT8, c.y);
    const qsim_level_conv conv = c.conv();
    ASSERT_EQ(qsim_conv2d_levels(&conv, call.multipliers.tensor(), call.bias.tensor(),
                                 call.zero_point.tensor(), call.lo, call.hi, 0, y.tensor(), nullptr,
                                 nullptr, nullptr),
              QSIM_OK)
        << qsim_last_error();
    const qsim_requantization how{call.multipliers.tensor(),
                                  QSIM_ROUND_FLOAT32,
                                  c.has_zero_point ? c.zero_point.values[0] : 0,
                                  call.zero_point.values[0],
                                  call.lo,
                                  call.hi};
    ASSERT_EQ(qsim_conv2d_int8(c.q.tensor(), c.w.tensor(), call.bias.tensor(), &c.window, c.groups,
                               &how, other.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(y.values, other.values);
    EXPECT_GT(std::count_if(y.values.begin(), y.values.end(), [](int v) { return v != 0; }), 0);
  }
}

TEST(TrainConv, AnInt32SumAndItsBiasWrap) {
  // 66,000 products of 255 and -128 are below -2^31.
  const Array<std::int8_t> q(QSIM_INT8, {1, 1, 1, 66000}, std::vector<std::int8_t>(66000, 127));
  const Array<std::int8_t> w(QSIM_INT8, {1, 1, 1, 66000}, std::vector<std::int8_t>(66000, -128));
  const Array<std::int32_t> zero_point(QSIM_INT32, {1}, {-128});
  const qsim_level_conv conv{
      sizeof(qsim_level_conv), q.tensor(), zero_point.tensor(), w.tensor(), nullptr, 1};
  const Array<std::int64_t> sums(QSIM_INT64, {1, 3});
  ASSERT_EQ(qsim_conv2d_statistics(&conv, sums.tensor(), nullptr), QSIM_OK) << qsim_last_error();
  const auto wrapped = static_cast<std::int32_t>(std::int64_t{66000} * 255 * -128);
  EXPECT_GT(wrapped, 0);
  EXPECT_EQ(sums.values[0], wrapped);
  const Array<float> one(QSIM_FLOAT32, {1}, {1e-8F});
  const Array<std::int32_t> bias(QSIM_INT32, {1}, {2147483647});
  const Array<std::int8_t> y(QSIM_INT8, {1, 1, 1, 1});
  ASSERT_EQ(qsim_conv2d_levels(&conv, one.tensor(), bias.tensor(), nullptr, -128, 127, 0,
                               y.tensor(), nullptr, nullptr, nullptr),
            QSIM_OK);
  const auto biased = static_cast<std::int32_t>(std::int64_t{wrapped} + 2147483647);
  EXPECT_LT(biased, 0);
  EXPECT_EQ(y.values[0], std::nearbyint(biased * 1e-8));
}

TEST(TrainConv, StatisticsAreExactSums) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Drawn drawn(seed);
    const ConvCase& c = drawn.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const Array<std::int64_t> sums(QSIM_INT64, {c.outs(), 3});
    const qsim_level_conv conv = c.conv();
    ASSERT_EQ(qsim_conv2d_statistics(&conv, sums.tensor(), nullptr), QSIM_OK) << qsim_last_error();
    std::vector<std::int64_t> expected(static_cast<std::size_t>(c.outs() * 3));
    const std::vector<std::int64_t> accs = c.sums();
    for (std::size_t i = 0; i < accs.size(); ++i) {
      const std::size_t o = i % static_cast<std::size_t>(c.outs());
      const std::int64_t square = accs[i] * accs[i];
      expected[o * 3] += accs[i];
      expected[o * 3 + 1] += square % (std::int64_t{1} << 32);
      expected[o * 3 + 2] += square / (std::int64_t{1} << 32);
    }
    EXPECT_EQ(sums.values, expected);
  }
}

// Random numbers of bfloat16 as codes.
Array<std::uint16_t> random_g(Random& random, const Shape& shape) {
  Array<std::uint16_t> g(QSIM_BFLOAT16, shape);
  for (std::uint16_t& code : g.values) {
    code = static_cast<std::uint16_t>(random.uniform(124 << 7, 128 << 7) |
                                      (random.chance(0.5) ? 0x8000 : 0));
  }
  return g;
}

TEST(TrainConv, GradientSumsAreWithinAFloatRoundingOfTheExactSums) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Drawn drawn(seed);
    const ConvCase& c = drawn.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const Array<std::uint16_t> g = random_g(drawn.random, c.y);
    const Array<float> sums(QSIM_FLOAT32, {c.outs(), 2});
    const qsim_level_conv conv = c.conv();
    ASSERT_EQ(qsim_conv2d_gradient_sums(&conv, g.tensor(), sums.tensor(), nullptr), QSIM_OK)
        << qsim_last_error();
    std::vector<long double> expected(sums.values.size());
    const std::vector<std::int64_t> accs = c.sums();
    for (std::size_t i = 0; i < accs.size(); ++i) {
      const std::size_t o = i % static_cast<std::size_t>(c.outs());
      const long double value = decode16(QSIM_BFLOAT16, g.values[i]);
      expected[o * 2] += value;
      expected[o * 2 + 1] += value * static_cast<long double>(accs[i]);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(sums.values[i], static_cast<float>(expected[i]));
    }
  }
}

TEST(TrainConv, SumsBeyondFloat32sIntegersCountExactlyInGradientSums) {
  // Two pixels of 2,001 channels, whose sums are odd and above 2^24.
  Array<std::int8_t> q(QSIM_INT8, {2, 1, 1, 2001}, std::vector<std::int8_t>(4002, 127));
  q.values[0] = 126;
  const Array<std::int8_t> w(QSIM_INT8, {1, 1, 1, 2001}, std::vector<std::int8_t>(2001, 127));
  const qsim_level_conv conv{sizeof(qsim_level_conv), q.tensor(), nullptr, w.tensor(), nullptr, 1};
  const Array<std::uint16_t> g(QSIM_BFLOAT16, {2, 1, 1, 1}, {0xBF80, 0x3F80});  // -1 and 1
  const Array<float> sums(QSIM_FLOAT32, {1, 2});
  ASSERT_EQ(qsim_conv2d_gradient_sums(&conv, g.tensor(), sums.tensor(), nullptr), QSIM_OK);
  EXPECT_EQ(sums.values, (std::vector<float>{0, 127}));
}

TEST(TrainConv, ANormalizedGradientHasTheBitsOfTwoFusedMultiplyAdds) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Drawn drawn(seed);
    const ConvCase& c = drawn.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    Array<std::uint16_t> g = random_g(drawn.random, c.y);
    const Array<std::uint16_t> before = g;
    Array<float> factors(QSIM_FLOAT32, {c.outs(), 3}, random_scales(drawn.random, c.outs() * 3));
    for (std::size_t i = 1; i < factors.values.size(); i += 3) factors.values[i] *= -0.001F;
    const std::vector<std::int64_t> accs = c.sums();
    if (seed % 2 == 0) {  // only the rounding of a product is left of it
      for (std::size_t o = 0; o * 3 < factors.values.size(); ++o) {
        float* f = factors.values.data() + o * 3;
        f[0] = 0;
        f[2] = -product(f[1], static_cast<float>(accs[o]));
      }
    }
    const qsim_level_conv conv = c.conv();
    ASSERT_EQ(qsim_conv2d_normalize_gradient(&conv, factors.tensor(), g.tensor(), nullptr), QSIM_OK)
        << qsim_last_error();
    for (std::size_t i = 0; i < accs.size(); ++i) {
      const float* f = factors.values.data() + i % static_cast<std::size_t>(c.outs()) * 3;
      const auto value = static_cast<float>(decode16(QSIM_BFLOAT16, before.values[i]));
      const float rest = std::fma(f[1], static_cast<float>(accs[i]), f[2]);
      const auto expected = static_cast<double>(std::fma(f[0], value, rest));
      ASSERT_EQ(decode16(QSIM_BFLOAT16, g.values[i]), rounded_to(QSIM_BFLOAT16, expected));
    }
  }
}

}  // namespace
}  // namespace qsim::golden_test
