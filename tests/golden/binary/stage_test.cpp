// What makes the next layer's bits: max-pool, batch norm, ReLU, quantizer, in this order; and
// words.
#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/binary/optimised_conv.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

BinaryStage stage_of(float gain, float shift, bool relu, std::vector<float> v) {
  BinaryStage stage;
  stage.gain = {gain};
  stage.shift = {shift};
  stage.relu = relu;
  stage.v = std::move(v);
  return stage;
}

std::vector<std::uint64_t> bits_of(const BinaryStage& stage, const std::vector<float>& y) {
  return reference_stage(stage, y, {1, 1, static_cast<std::int64_t>(y.size()), 1}).words;
}

TEST(BinaryStage, ThresholdsAreAboveOneHalfAndNotAtIt) {
  const BinaryStage stage = stage_of(1, 0, false, {0.0F});
  EXPECT_EQ(bits_of(stage, {0.5F, std::nextafter(0.5F, 1.0F), 0.0F, 2.0F, -INFINITY, NAN}),
            (std::vector<std::uint64_t>{0, 1, 0, 1, 0, 0}));
}

// x + v is a float32: 1e-10 is lost beside 0.5.
TEST(BinaryStage, TheSumWithVIsRoundedBeforeItIsCompared) {
  const BinaryStage stage = stage_of(1, 0, false, {0.5F});
  EXPECT_EQ(bits_of(stage, {1e-10F, 1e-6F}), (std::vector<std::uint64_t>{0, 1}));
}

TEST(BinaryStage, ReluComesAfterBatchNormAndBeforeTheQuantizer) {
  EXPECT_EQ(bits_of(stage_of(-1, 0, true, {0.6F}), {5.0F, -5.0F}),
            (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(bits_of(stage_of(-1, 0, false, {0.6F}), {5.0F, -5.0F}),
            (std::vector<std::uint64_t>{0, 1}));
}

TEST(BinaryStage, TheMaxPoolComesBeforeBatchNorm) {
  BinaryStage stage = stage_of(-1, 0, false, {0.0F});
  stage.pool = BinaryPool{2, 2};
  // The maximum 4 becomes -4. Batch norm first would leave the maximum 3 of -4, -2, 1 and 3.
  const std::vector<float> y = {4.0F, 2.0F, -1.0F, -3.0F};
  EXPECT_EQ(reference_stage(stage, y, {1, 2, 2, 1}).words, std::vector<std::uint64_t>{0});
}

TEST(BinaryStage, AMaxPoolPassesOverNaN) {
  BinaryStage stage = stage_of(1, 0, false, {0.0F});
  stage.pool = BinaryPool{2, 2};
  const std::vector<float> y = {NAN, 2.0F, NAN, -3.0F};
  EXPECT_EQ(reference_stage(stage, y, {1, 2, 2, 1}).words, std::vector<std::uint64_t>{1});
}

TEST(BinaryStage, PoolsThatOverlapUseTheRowsTheyShare) {
  Random random(5);
  golden_test::RandomLayer layer = golden_test::random_layer(random);
  layer.input =
      golden_test::random_bits(random, {2, 9, 8, layer.input.shape.channels}, layer.input.bases);
  layer.stage.pool = BinaryPool{3, 1};
  layer.conv.window = Window{};
  layer.conv.weights =
      golden_test::random_weights(random, {20, 1, 1, layer.input.shape.channels}, 2);
  layer.conv.bias.clear();
  layer.stage.gain = golden_test::random_reals(random, 20);
  layer.stage.shift = golden_test::random_reals(random, 20);
  const ImageShape shape = output_shape(layer.conv, layer.input);
  const BitTensor expected =
      reference_stage(layer.stage, reference_conv(layer.conv, layer.input), shape);
  for (const int threads : {1, 4}) {
    const OptimisedBinaryConv optimised(layer.conv, {PopcountPath::kAuto, threads});
    EXPECT_EQ(optimised.run(layer.input, layer.stage), expected);
  }
}

TEST(BitTensor, ChannelCIsBitCModulo64OfWordCDividedBy64) {
  std::vector<float> x(70, -1.0F);
  x[0] = x[33] = x[63] = x[64] = x[69] = 1.0F;
  const BitTensor bits =
      quantize_and_pack(std::span<const float>(x), {1, 1, 1, 70}, 1, SignQuantizer{});
  EXPECT_EQ(bits.words, (std::vector<std::uint64_t>{1ULL | 1ULL << 33 | 1ULL << 63, 1 | 1 << 5}));
  EXPECT_EQ(unpack(bits, 0), x);
}

TEST(BitTensor, BothZerosHaveSignPlusOneAndNaNMinusOne) {
  const std::vector<float> x = {0.0F, -0.0F, NAN, -NAN, -1e-45F, INFINITY};
  const BitTensor bits =
      quantize_and_pack(std::span<const float>(x), {1, 1, 1, 6}, 1, SignQuantizer{});
  EXPECT_EQ(bits.words, std::vector<std::uint64_t>{0b100011});
}

TEST(BitTensor, TheQuantizerIsAParameter) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const auto odd = [](float value, std::size_t base) {
    return static_cast<int>(value) % 2 == static_cast<int>(1 - base);
  };
  const BitTensor bits = quantize_and_pack(std::span<const float>(x), {1, 1, 2, 3}, 2, odd);
  EXPECT_EQ(bits.words, (std::vector<std::uint64_t>{0b101, 0b010, 0b010, 0b101}));
}

TEST(BitTensor, DequantizeSumsTheBases) {
  const std::vector<float> x = {-1, 0.25F, 2};
  const std::vector<float> v = {0.5F, -0.5F};
  const BitTensor bits = pack_activations(x, {1, 1, 1, 3}, v);
  EXPECT_EQ(dequantize(bits, std::vector<float>{0.75F, 0.5F}),
            (std::vector<float>{-1.25F, 0.25F, 1.25F}));
}

}  // namespace
}  // namespace qsim::golden
