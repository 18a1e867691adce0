// The packed linear layer against the plain one, bit for bit, with each instruction set, shape of
// tiles, number of threads and rows.
#include "golden/kernels/linear/packed_linear.h"

#include <cmath>

#include <gtest/gtest.h>

#include "golden/kernels/linear/float_linear.h"
#include "golden/kernels/linear/quantizer.h"
#include "golden/kernels/linear/reference_linear.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden {
namespace {

FloatMatrix packed(const LinearCase& one, const PackedLinearOptions& options, int threads = 1) {
  ThreadTeam team(threads);
  return PackedLinear(one.weights, one.bias, options).run(one.x, one.y_type, team);
}

void compare(std::uint64_t seed, int cases, std::int64_t most_rows, std::int64_t most_features) {
  Random random(seed);
  int non_zero = 0;
  for (int i = 0; i < cases; ++i) {
    const LinearCase one = random_linear_case(random, most_rows, most_features);
    const FloatMatrix expected = reference_linear(one.x, one.weights, one.bias, one.y_type);
    const auto shape =
        kTileShapes[static_cast<std::size_t>(random.uniform(0, kTileShapes.size() - 1))];
    const int threads = random.chance(0.1) ? 3 : 1;
    for (const VectorPath path : kVectorPaths) {
      if (!is_available(path)) continue;
      ASSERT_EQ(packed(one, {path, shape}, threads), expected)
          << "case " << i << " of seed " << seed << ", " << vector_path_name(path) << ", tiles of "
          << shape.panels << " x " << shape.rows << ", " << threads << " threads, x [" << one.x.rows
          << ", " << one.x.columns << "] " << float_type_name(one.x.type) << ", N "
          << one.weights.out_features << ", groups of " << one.weights.group_size << ", "
          << one.weights.bits << " bits";
    }
    non_zero += (expected.fp32_bits(0) & kFp32Magnitude) != 0 ? 1 : 0;
  }
  EXPECT_GT(non_zero, cases / 2);
}

TEST(PackedLinear, EqualsThePlainOneInTenThousandRandomCases) { compare(1, 10000, 5, 150); }

TEST(PackedLinear, EqualsThePlainOneWithManyFeatures) { compare(2, 60, 3, 8192); }

TEST(PackedLinear, EqualsThePlainOneWithManyRows) { compare(3, 6, 256, 300); }

TEST(PackedLinear, AddsSumsOfMoreThanSixtyFourBits) {
  Random random(5);
  for (const std::int64_t in_features :
       {std::int64_t{66052}, std::int64_t{66053}, kMostInFeatures}) {
    LinearCase one;
    one.x = random_floats(random, FloatType::kFloat16, 1, in_features, Values::kLarge);
    one.x.set(7, bits_of(0x1p-24F));
    one.weights = random_weights(random, 3, in_features, 0, 8);
    std::fill(one.weights.values.begin(), one.weights.values.end(), std::int8_t{127});
    std::fill_n(one.weights.values.begin(), in_features, std::int8_t{-127});
    const FloatMatrix expected = reference_linear(one.x, one.weights, {}, FloatType::kFloat32);
    for (const VectorPath path : kVectorPaths) {
      if (!is_available(path)) continue;
      EXPECT_EQ(packed(one, {path, {}}), expected)
          << in_features << " features, " << vector_path_name(path);
    }
  }
}

// Three digits of each x are 127, and each weight is 15: the largest sums of few products.
TEST(PackedLinear, AddsTheLargestDigitsTimesTheLargestFourBits) {
  Random random(9);
  for (const std::int64_t group_size : {0, 32, 128}) {
    LinearCase one;
    one.x = FloatMatrix(FloatType::kFloat32, 2, 256);
    for (std::size_t i = 0; i < 512; ++i) one.x.set(i, bits_of(i < 256 ? 0xFEFEFE : -0xFEFEFE));
    one.weights = random_weights(random, 17, 256, group_size, 4);
    std::fill(one.weights.values.begin(), one.weights.values.end(), std::int8_t{15});
    std::fill(one.weights.zero_points.begin(), one.weights.zero_points.end(), std::uint8_t{0});
    const FloatMatrix expected = reference_linear(one.x, one.weights, {}, FloatType::kFloat32);
    for (const VectorPath path : kVectorPaths) {
      if (!is_available(path)) continue;
      EXPECT_EQ(packed(one, {path, {}}), expected)
          << "groups of " << group_size << ", " << vector_path_name(path);
    }
  }
}

TEST(PackedLinear, GivesARowTheSameBitsWhateverOtherRowsThereAre) {
  Random random(6);
  LinearCase one;
  one.x = random_floats(random, FloatType::kBfloat16, 9, 500, Values::kAnyFinite);
  one.weights = random_weights(random, 40, 500, 64, 8);
  const FloatMatrix all = packed(one, {});
  const std::size_t row_bytes = one.x.bytes.size() / 9;
  for (std::size_t row = 0; row < 9; ++row) {
    LinearCase alone = one;
    alone.x = FloatMatrix(one.x.type, 1, 500);
    std::copy_n(one.x.bytes.begin() + static_cast<std::ptrdiff_t>(row * row_bytes), row_bytes,
                alone.x.bytes.begin());
    const FloatMatrix y = packed(alone, {});
    EXPECT_TRUE(std::equal(y.bytes.begin(), y.bytes.end(),
                           all.bytes.begin() + static_cast<std::ptrdiff_t>(row * y.bytes.size())));
  }
}

TEST(PackedLinear, CountsTheBytesThatARunReads) {
  Random random(7);
  // 17 channels are two panels of 16; 9 features are four quads.
  const PackedLinear bytes(random_weights(random, 17, 9, 0, 8), {});
  EXPECT_EQ(bytes.weight_bytes(), 2 * 16 * 16 + 2 * 16 * 4 + 16);
  const PackedLinear nibbles(random_weights(random, 17, 9, 0, 4), {});
  EXPECT_EQ(nibbles.weight_bytes(), 2 * 16 * 8 + 2 * 16 * 4 + 2 * 16);
}

// |packed - float| <= what the weights were rounded by, half a scale each, and float32's own error.
TEST(FloatLinear, IsAsNearToThePackedOneAsTheQuantizerAllows) {
  Random random(8);
  ThreadTeam team(2);
  for (const std::int64_t in_features : {1, 63, 64, 65, 700}) {
    const FloatMatrix x = random_floats(random, FloatType::kFloat16, 3, in_features, Values::kNear);
    std::vector<float> floats(static_cast<std::size_t>(in_features) * 5);
    for (float& value : floats) value = static_cast<float>(random.uniform(-1000, 1000)) * 1e-4F;
    const std::vector<float> bias = {1, 2, 3, 4, 5};
    const LinearWeights weights = quantize_per_channel(floats, 5, in_features);
    const FloatMatrix expected = reference_linear(x, weights, bias, FloatType::kFloat32);
    for (const VectorPath path : kVectorPaths) {
      if (!is_available(path)) continue;
      const FloatMatrix y = float_linear(x, floats, bias, path, team);
      for (std::size_t i = 0; i < 15; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < in_features; ++k) {
          const std::size_t at = i / 5 * static_cast<std::size_t>(in_features);
          sum += std::abs(float_of(x.fp32_bits(at + static_cast<std::size_t>(k))));
        }
        const double bound = sum * static_cast<double>(weights.scales[i % 5]) * 0.5001 + 1e-4;
        EXPECT_NEAR(float_of(y.fp32_bits(i)), float_of(expected.fp32_bits(i)), bound)
            << in_features << " features, " << vector_path_name(path);
      }
    }
  }
}

}  // namespace
}  // namespace qsim::golden
