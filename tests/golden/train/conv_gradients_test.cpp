// The gradients of training convolutions, against exact sums: within the bounds that
// docs/reference/training.md derives.
#include <gtest/gtest.h>

#include "tests/golden/train/train_cases.h"

namespace qsim::golden_test {
namespace {

constexpr std::uint64_t kSeeds = 100;
constexpr double kUnit = 0x1p-24;    // of float32
constexpr double kOperand = 0x1p-8;  // what rounding to bfloat16 changes, of its number

// dy of a layer and what the calls make of it.
struct Gradients {
  Random random;
  ConvCase c;
  std::int32_t dtype;
  Reals dy;
  Bits y_passes;
  Array<std::uint16_t> g;
  Array<float> bias_gradient;

  explicit Gradients(std::uint64_t seed)
      : random(seed),
        c(random_conv(random)),
        dtype(random_real_type(random)),
        dy(Reals::random(random, dtype, c.y, random.chance(0.5) ? channels_first(c.y) : Shape{})),
        y_passes(Bits::random(random, c.y_elems())),
        g(QSIM_BFLOAT16, c.y),
        bias_gradient(QSIM_FLOAT32, {c.outs()}) {
    EXPECT_EQ(qsim_gradient_operand(dy.tensor(), y_passes.tensor(), g.tensor(),
                                    bias_gradient.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
  }
  double passed(std::size_t i) const {
    const auto index = static_cast<std::int64_t>(i);
    return y_passes.get(index) ? dy.at(index) : 0.0;
  }
};

TEST(TrainGradients, TheOperandIsWhatPassesInBfloat16AndItsSumsAreTheBiasGradient) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Gradients of(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + of.c.text());
    std::vector<long double> sums(static_cast<std::size_t>(of.c.outs()));
    for (std::size_t i = 0; i < of.g.values.size(); ++i) {
      ASSERT_EQ(decode16(QSIM_BFLOAT16, of.g.values[i]), rounded_to(QSIM_BFLOAT16, of.passed(i)));
      sums[i % sums.size()] += of.passed(i);
    }
    for (std::size_t o = 0; o < sums.size(); ++o) {
      EXPECT_EQ(of.bias_gradient.values[o], static_cast<float>(sums[o]));
    }
  }
}

// Exact sums, and sums of magnitudes.
struct Sums {
  std::vector<double> of_g;
  std::vector<double> of_dy;
  std::vector<double> magnitudes;
  std::vector<double> counts;

  explicit Sums(std::int64_t size)
      : of_g(static_cast<std::size_t>(size)), of_dy(of_g), magnitudes(of_g), counts(of_g) {}
  void add(std::size_t at, double g, double dy, double rounded_factor, double factor) {
    of_g[at] += g * rounded_factor;
    of_dy[at] += dy * factor;
    magnitudes[at] += std::abs(dy * factor);
    counts[at] += 1;
  }
};

TEST(TrainGradients, TheInputGradientIsWithinItsBoundOfTheExactOne) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Gradients of(seed);
    const ConvCase& c = of.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const Array<float> w_scales(QSIM_FLOAT32, {c.outs()}, random_scales(of.random, c.outs()));
    const Bits passes = Bits::random(of.random, element_count(c.q.shape));
    const Reals dx(of.dtype, c.q.shape,
                   of.random.chance(0.5) ? channels_first(c.q.shape) : Shape{});
    qsim_level_conv conv = c.conv();
    qsim_tensor shape_of_q = *conv.q;
    shape_of_q.data = nullptr;
    conv.q = &shape_of_q;
    ASSERT_EQ(qsim_conv2d_input_gradient(&conv, w_scales.tensor(), of.g.tensor(), passes.tensor(),
                                         dx.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    Sums sums(dx.elems());
    c.each_product([&](std::size_t y, std::size_t x, std::size_t k) {
      const double scale = w_scales.values[y % static_cast<std::size_t>(c.outs())];
      const double weight = c.w.values[k] * scale;
      const double operand = rounded_to(QSIM_BFLOAT16, rounded_to(QSIM_FLOAT32, weight));
      sums.add(x, decode16(QSIM_BFLOAT16, of.g.values[y]), of.passed(y), operand, weight);
    });
    for (std::size_t i = 0; i < sums.of_g.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const double found = dx.at(index);
      if (!passes.get(index)) {
        ASSERT_EQ(found, 0) << "element " << i;
        continue;
      }
      // A sum of n products has n roundings at most, each of a partial sum; the last is to dx.
      const double last = of.dtype == QSIM_FLOAT32   ? 0
                          : of.dtype == QSIM_FLOAT16 ? 0x1p-11
                                                     : kOperand;
      const double rounding =
          1.01 * last * std::abs(found) + (of.dtype == QSIM_FLOAT16 ? 0x1p-24 : 0);
      const double summation = 1.02 * sums.counts[i] * kUnit * sums.magnitudes[i];
      EXPECT_LE(std::abs(found - sums.of_g[i]), summation + rounding) << "element " << i;
      EXPECT_LE(std::abs(found - sums.of_dy[i]),
                (2.01 * kOperand + 2 * kUnit) * sums.magnitudes[i] + summation + rounding);
    }
  }
}

TEST(TrainGradients, TheWeightGradientIsWithinItsBoundOfTheExactOne) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Gradients of(seed);
    const ConvCase& c = of.c;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const Array<float> scale(QSIM_FLOAT32, {1}, random_scales(of.random, 1));
    const Bits passes = Bits::random(of.random, element_count(c.w.shape));
    const Reals dw(QSIM_FLOAT32, c.w.shape,
                   of.random.chance(0.5) ? channels_first(c.w.shape) : Shape{});
    qsim_level_conv conv = c.conv();
    qsim_tensor shape_of_w = *conv.w;
    shape_of_w.data = nullptr;
    conv.w = &shape_of_w;
    ASSERT_EQ(qsim_conv2d_weight_gradient(&conv, scale.tensor(), of.g.tensor(), passes.tensor(),
                                          dw.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    Sums sums(dw.elems());
    const double zero = c.has_zero_point ? c.zero_point.values[0] : 0;
    c.each_product([&](std::size_t y, std::size_t x, std::size_t k) {
      const double factor = (c.q.values[x] - zero) * scale.values[0];
      sums.add(k, decode16(QSIM_BFLOAT16, of.g.values[y]), of.passed(y), factor, factor);
    });
    for (std::size_t i = 0; i < sums.of_g.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      if (!passes.get(index)) {
        ASSERT_EQ(dw.at(index), 0) << "element " << i;
        continue;
      }
      const double summation = 1.02 * (sums.counts[i] + 1) * kUnit * sums.magnitudes[i];
      EXPECT_LE(std::abs(dw.at(index) - sums.of_g[i]), summation) << "element " << i;
      EXPECT_LE(std::abs(dw.at(index) - sums.of_dy[i]),
                1.01 * kOperand * sums.magnitudes[i] + summation);
    }
  }
}

TEST(TrainGradients, ZeroGradientsGiveZeros) {
  Random random(5);
  const ConvCase c = random_conv(random);
  const Array<std::uint16_t> g(QSIM_BFLOAT16, c.y);
  const Array<float> scale(QSIM_FLOAT32, {1}, {0.5F});
  const Array<float> w_scales(QSIM_FLOAT32, {c.outs()}, random_scales(random, c.outs()));
  const Reals dx(QSIM_FLOAT16, c.q.shape);
  const Reals dw(QSIM_FLOAT32, c.w.shape);
  const qsim_level_conv conv = c.conv();
  ASSERT_EQ(qsim_conv2d_input_gradient(&conv, w_scales.tensor(), g.tensor(), nullptr, dx.tensor(),
                                       nullptr),
            QSIM_OK);
  ASSERT_EQ(
      qsim_conv2d_weight_gradient(&conv, scale.tensor(), g.tensor(), nullptr, dw.tensor(), nullptr),
      QSIM_OK);
  for (std::int64_t i = 0; i < dx.elems(); ++i) ASSERT_EQ(dx.at(i), 0);
  for (std::int64_t i = 0; i < dw.elems(); ++i) ASSERT_EQ(dw.at(i), 0);
}

}  // namespace
}  // namespace qsim::golden_test
