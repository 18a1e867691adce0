// The optimised path of binary convolution against the plain loops, for every instruction set that
// this processor has, on 10,000 random layers in all; and what padding with bits would give.
#include <algorithm>
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/binary/optimised_conv.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

using golden_test::random_layer;
using golden_test::RandomLayer;

constexpr std::uint64_t kFirstSeed = 15'000;
constexpr std::uint64_t kSeeds = 10'000;

// Floats by their bits: -0 differs from +0.
std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

class BinaryPaths : public testing::TestWithParam<PopcountPath> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) {
      GTEST_SKIP() << "skipped: this processor has no " << popcount_path_name(GetParam());
    }
  }
};

// The plain loops' result of a layer, and of its stage.
struct Expected {
  std::vector<std::uint32_t> y;
  BinaryStage stage;
  BitTensor bits;
};

Expected expect(const RandomLayer& layer) {
  const ImageShape shape = output_shape(layer.conv, layer.input);
  Expected expected;
  expected.stage = layer.stage;
  BinaryStage& stage = expected.stage;
  if (stage.pool && stage.pool->size > std::min(shape.height, shape.width)) stage.pool.reset();
  const std::vector<float> y = reference_conv(layer.conv, layer.input);
  expected.y = bits_of(y);
  expected.bits = reference_stage(stage, y, shape);
  return expected;
}

TEST(BinaryLayers, TenThousandRandomOnesEqualThePlainLoopsInEveryBitOnEveryPath) {
  std::size_t ones = 0;
  std::size_t bits = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
    Random random(seed);
    const RandomLayer layer = random_layer(random);
    const Expected expected = expect(layer);
    for (const PopcountPath path : kPopcountPaths) {
      if (!is_available(path)) continue;
      const OptimisedBinaryConv optimised(layer.conv, {path, seed % 64 == 0 ? 3 : 1});
      ASSERT_EQ(bits_of(optimised.run(layer.input)), expected.y)
          << "seed " << seed << ", " << popcount_path_name(path);
      ASSERT_EQ(optimised.run(layer.input, expected.stage), expected.bits)
          << "seed " << seed << ", " << popcount_path_name(path);
    }
    for (const std::uint64_t word : expected.bits.words) {
      ones += static_cast<std::size_t>(std::popcount(word));
    }
    bits += static_cast<std::size_t>(element_count(expected.bits.shape.nhwc())) *
            static_cast<std::size_t>(expected.bits.bases);
  }
  // A comparison of constants would prove nothing.
  EXPECT_GT(ones, bits / 4) << "seeds " << kFirstSeed << " and up";
  EXPECT_LT(ones, bits / 4 * 3);
}

TEST_P(BinaryPaths, PackingEqualsThePlainLoopsAlsoForNaNsInfinitiesAndZeros) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const ImageShape shape = {random.uniform(1, 2), random.uniform(1, 5), random.uniform(1, 5),
                              random.uniform(1, 200)};
    std::vector<float> x =
        golden_test::random_reals(random, static_cast<std::size_t>(element_count(shape.nhwc())));
    const float special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0F, -0.0F, 0.5F, 1e-40F};
    for (float& value : x) {
      if (random.chance(0.1)) value = special[random.uniform(0, 7)];
    }
    const std::vector<float> v = {0.5F, 0.0F, golden_test::random_real(random)};
    ASSERT_EQ(pack_activations(x, shape, v, {GetParam(), static_cast<int>(seed % 3) + 1}),
              quantize_and_pack(std::span<const float>(x), shape, 3, ThresholdQuantizer{v}))
        << "seed " << seed;
  }
}

// 4,608 products of +1 are the extreme dot, and 31 words a step are where bytes would overflow.
TEST_P(BinaryPaths, ExtremeDotsAreExact) {
  for (const std::int64_t channels : {64, 1984, 2048, 8192}) {
    BinaryConv conv;
    conv.window = {.kernel_h = 3, .kernel_w = 3};
    conv.weights.shape = {17, 3, 3, channels};
    conv.weights.words.assign(static_cast<std::size_t>(17 * 9 * bit_words(channels)), ~0ULL);
    conv.weights.alpha.assign(17, 1.0F);
    conv.beta = {1.0F};
    BitTensor input({1, 3, 3, channels}, 1);
    const OptimisedBinaryConv optimised(conv, {GetParam(), 1});
    EXPECT_EQ(optimised.run(input), std::vector<float>(17, -9.0F * static_cast<float>(channels)));
    input.words.assign(input.words.size(), ~0ULL);
    EXPECT_EQ(optimised.run(input), std::vector<float>(17, 9.0F * static_cast<float>(channels)));
  }
}

// Sums that overflow make y NaN at two of four pixels; the others are 0.
TEST_P(BinaryPaths, AMaxPoolPassesOverNaN) {
  const BinaryConv conv = golden_test::overflowing_layer();
  BitTensor input({1, 2, 2, 4}, 1);
  input.words = {15, 3, 3, 15};
  BinaryStage stage;
  stage.pool = BinaryPool{2, 2};
  stage.gain = {1};
  stage.shift = {1};
  stage.v = {0};
  const OptimisedBinaryConv optimised(conv, {GetParam(), 1});
  EXPECT_TRUE(std::isnan(optimised.run(input)[3]));
  EXPECT_EQ(optimised.run(input, stage).words, std::vector<std::uint64_t>{1});
}

INSTANTIATE_TEST_SUITE_P(AllPaths, BinaryPaths, testing::ValuesIn(kPopcountPaths),
                         [](const auto& path) {
                           return std::string(popcount_path_name(path.param));
                         });

}  // namespace
}  // namespace qsim::golden
