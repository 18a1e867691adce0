// The plain loops of binary convolution against sums of floats that are written out here, and the
// difference between a pad and a packed 0.
#include <bit>
#include <cfenv>
#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/binary/binary_conv.h"
#include "golden/kernels/binary/optimised_conv.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

using golden_test::random_bits;
using golden_test::random_layer;
using golden_test::random_weights;
using golden_test::RandomLayer;

BinaryConv one_base(Random& random, const WeightShape& shape, std::int64_t pad) {
  BinaryConv conv;
  conv.weights = random_weights(random, shape, 1);
  conv.weights.alpha.assign(static_cast<std::size_t>(shape.out_channels), 1.0F);
  conv.beta = {1.0F};
  conv.window = {.kernel_h = shape.kernel_h,
                 .kernel_w = shape.kernel_w,
                 .pad_top = pad,
                 .pad_left = pad,
                 .pad_bottom = pad,
                 .pad_right = pad};
  return conv;
}

// What many kernels compute: words of 0 around the picture, and 2 popcount(xnor) - n.
float usual_xnor(const BinaryConv& conv, const BitTensor& input, std::int64_t y, std::int64_t x) {
  const Window& w = conv.window;
  const std::int64_t n = w.kernel_h * w.kernel_w * input.shape.channels;
  std::int64_t differ = 0;
  for (std::int64_t tap = 0; tap < w.kernel_h * w.kernel_w; ++tap) {
    const std::int64_t iy = y + tap / w.kernel_w - w.pad_top;
    const std::int64_t ix = x + tap % w.kernel_w - w.pad_left;
    const bool inside = iy >= 0 && iy < input.shape.height && ix >= 0 && ix < input.shape.width;
    for (std::int64_t k = 0; k < bit_words(input.shape.channels); ++k) {
      const std::uint64_t a = inside ? input.pixel(0, iy, ix)[k] : 0;
      differ += std::popcount(a ^ conv.weights.tap(0, 0, tap)[k]);
    }
  }
  return static_cast<float>(2 * (n - differ) - n);  // xnor has a 1 where xor has a 0
}

// An independent convolution: unpacked tensors with a border of zeros, in double.
double dot_of_floats(const BinaryConv& conv, const BitTensor& input, std::int64_t y,
                     std::int64_t x) {
  const Window& w = conv.window;
  const std::vector<float> a = unpack(input, 0);
  BinaryWeights signs = conv.weights;
  signs.alpha.assign(signs.alpha.size(), 1.0F);
  const std::vector<float> b = dequantize(signs);
  const ImageShape& shape = input.shape;
  double sum = 0;
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t iy = y + ky - w.pad_top;
      const std::int64_t ix = x + kx - w.pad_left;
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        const bool inside = iy >= 0 && iy < shape.height && ix >= 0 && ix < shape.width;
        const double activation =
            inside ? static_cast<double>(
                         a[static_cast<std::size_t>((iy * shape.width + ix) * shape.channels + c)])
                   : 0.0;
        sum += activation *
               static_cast<double>(
                   b[static_cast<std::size_t>((ky * w.kernel_w + kx) * shape.channels + c)]);
      }
    }
  }
  return sum;
}

TEST(BinaryConvolution, APadIsZeroAndTheUsualXnorFormulaIsWrongExactlyAtTheBorder) {
  Random random(3);
  const BitTensor input = random_bits(random, {1, 6, 7, 70}, 1);
  const BinaryConv conv = one_base(random, {1, 3, 3, 70}, 1);
  const std::vector<float> plain = reference_conv(conv, input);
  const std::vector<float> fast = OptimisedBinaryConv(conv).run(input);
  int wrong = 0;
  for (std::int64_t y = 0; y < 6; ++y) {
    for (std::int64_t x = 0; x < 7; ++x) {
      const auto at = static_cast<std::size_t>(y * 7 + x);
      const auto exact = static_cast<float>(dot_of_floats(conv, input, y, x));
      EXPECT_EQ(plain[at], exact);
      EXPECT_EQ(fast[at], exact);
      const bool border = y == 0 || y == 5 || x == 0 || x == 6;
      const bool differs = usual_xnor(conv, input, y, x) != exact;
      EXPECT_FALSE(differs && !border);
      wrong += differs ? 1 : 0;
    }
  }
  EXPECT_GT(wrong, 18) << "of 22 pixels at the border";
}

TEST(BinaryConvolution, TheUsualXnorFormulaIsRightWithoutPads) {
  Random random(4);
  const BitTensor input = random_bits(random, {1, 6, 7, 70}, 1);
  const BinaryConv conv = one_base(random, {1, 3, 3, 70}, 0);
  const std::vector<float> plain = reference_conv(conv, input);
  for (std::int64_t i = 0; i < 4 * 5; ++i) {
    EXPECT_EQ(plain[static_cast<std::size_t>(i)], usual_xnor(conv, input, i / 5, i % 5));
  }
}

TEST(BinaryConvolution, SumsTheBasesByFmaInAscendingOrder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const RandomLayer layer = random_layer(random);
    const ImageShape shape = output_shape(layer.conv, layer.input);
    const std::vector<float> y = reference_conv(layer.conv, layer.input);
    const std::int64_t o = shape.channels - 1;
    float expected = layer.conv.bias.empty() ? 0.0F : layer.conv.bias.back();
    for (int i = 0; i < layer.conv.weights.bases; ++i) {
      float s = 0;
      for (int j = 0; j < layer.input.bases; ++j) {
        const std::int32_t dot = reference_dot(layer.conv, layer.input, i, j, shape.batch - 1,
                                               shape.height - 1, shape.width - 1, o);
        s = std::fma(layer.conv.beta[static_cast<std::size_t>(j)], static_cast<float>(dot), s);
      }
      const auto alpha = static_cast<std::size_t>(i * shape.channels + o);
      expected = std::fma(layer.conv.weights.alpha[alpha], s, expected);
    }
    EXPECT_EQ(y.back(), expected) << "seed " << seed;
  }
}

// A caller that rounds down, and (on x86) flushes subnormals, gets the same bits.
TEST(BinaryConvolution, TheCallersRoundingModeChangesNothing) {
  Random random(6);
  const RandomLayer layer = random_layer(random);
  const std::vector<float> expected = reference_conv(layer.conv, layer.input);
  const ImageShape shape = output_shape(layer.conv, layer.input);
  BinaryStage stage = layer.stage;
  stage.pool.reset();
  const BitTensor bits = reference_stage(stage, expected, shape);
  ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
  const std::vector<float> plain = reference_conv(layer.conv, layer.input);
  const BitTensor plain_bits = reference_stage(stage, plain, shape);
  for (const PopcountPath path : kPopcountPaths) {
    if (!is_available(path)) continue;
    const OptimisedBinaryConv optimised(layer.conv, {path, 2});
    EXPECT_EQ(optimised.run(layer.input), expected);
    EXPECT_EQ(optimised.run(layer.input, stage), bits);
  }
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(plain, expected);
  EXPECT_EQ(plain_bits, bits);
}

// alpha * s overflows to +infinity and -infinity, whose sum is NaN: one bit pattern on every
// machine.
TEST(BinaryConvolution, WritesOneNaN) {
  const BinaryConv conv = golden_test::overflowing_layer();
  BitTensor input({1, 1, 1, 4}, 1);
  input.words = {15};
  EXPECT_EQ(std::bit_cast<std::uint32_t>(reference_conv(conv, input)[0]), 0x7fc00000U);
  for (const PopcountPath path : kPopcountPaths) {
    if (!is_available(path)) continue;
    const std::vector<float> y = OptimisedBinaryConv(conv, {path, 1}).run(input);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[0]), 0x7fc00000U);
  }
}

}  // namespace
}  // namespace qsim::golden
