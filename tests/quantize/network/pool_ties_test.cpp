// Average pools at scales far from ties: float32 sums, as ONNX Runtime adds them, round as the
// exact mean does.
#include "quantize/pool_ties.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim::quantize {
namespace {

struct Pool {
  Quantization input;
  Quantization output;
  Window window;
};

float real_between(Random& random, double lo, double hi) {
  return static_cast<float>(lo +
                            (hi - lo) * static_cast<double>(random.uniform(0, 1 << 24)) * 0x1p-24);
}

Pool random_pool(Random& random, std::int64_t most_kernel) {
  Pool pool;
  pool.window.kernel_h = random.uniform(2, most_kernel);
  pool.window.kernel_w = random.uniform(1, most_kernel);
  pool.input.scale = real_between(random, 0.01, 0.1);
  pool.input.zero_point = static_cast<std::int32_t>(random.uniform(0, 255));
  pool.output.scale = pool.input.scale * real_between(random, 0.4, 1);
  pool.output.zero_point = static_cast<std::int32_t>(random.uniform(0, 255));
  return pool;
}

// How many of `windows` random windows of `count` positions round to another level in float32 than
// exactly.
int differing(const Pool& pool, std::int64_t count, int windows, Random& random) {
  int result = 0;
  for (int i = 0; i < windows; ++i) {
    std::int64_t exact = 0;
    float sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto level = static_cast<std::int32_t>(random.uniform(0, 255)) - pool.input.zero_point;
      exact += level;
      sum += pool.input.scale * static_cast<float>(level);
    }
    const float mean = sum / static_cast<float>(count) / pool.output.scale;
    const double found = std::nearbyint(mean + static_cast<float>(pool.output.zero_point));
    const double ratio = static_cast<double>(pool.input.scale) /
                         (static_cast<double>(pool.output.scale) * static_cast<double>(count));
    const double expected =
        std::nearbyint(static_cast<double>(exact) * ratio) + pool.output.zero_point;
    result += std::clamp(found, 0.0, 255.0) != std::clamp(expected, 0.0, 255.0);
  }
  return result;
}

TEST(PoolTies, EqualScalesOfFourPositionsAreTies) {
  Pool pool{{0.03F, 0}, {0.03F, 0}, {}};
  pool.window.kernel_h = pool.window.kernel_w = 2;
  EXPECT_EQ(distance_from_ties(pool.input, pool.output, pool.window, false), 0);
  Random random(1);
  EXPECT_GT(differing(pool, 4, 1000, random), 10);
}

TEST(PoolTies, TheDistanceIsThatOfTheNearestMean) {
  // Means are multiples of 1/9 and, in corners of four and edges of six positions, of 1/4 and 1/6.
  Pool pool{{0.5F, 10}, {0.5F, 20}, {}};
  pool.window.kernel_h = pool.window.kernel_w = 3;
  EXPECT_NEAR(distance_from_ties(pool.input, pool.output, pool.window, false), 0.5 / 9, 1e-12);
  EXPECT_EQ(distance_from_ties(pool.input, pool.output, pool.window, true), 0);
  // Beyond its levels the output saturates: with 0 and 1 alone, means of 0, 1/9, .., 2.
  pool.output.zero_point = pool.output.lo = 0;
  pool.output.hi = 1;
  pool.output.scale = 0.48F;
  double nearest = 1;
  for (int sum = -90; sum <= 18; ++sum) {
    const double mean = sum * 0.5 / (static_cast<double>(0.48F) * 9);
    if (mean < -1 || mean > 2) continue;
    nearest = std::min(nearest, std::abs(mean - std::floor(mean) - 0.5));
  }
  EXPECT_NEAR(distance_from_ties(pool.input, pool.output, pool.window, false), nearest, 1e-12);
}

TEST(PoolTies, NoFloatSumRoundsToAnotherLevelAtThePartedScale) {
  Random random(7);
  int before = 0;
  for (int i = 0; i < 300; ++i) {
    Pool pool = random_pool(random, 3);
    if (i % 3 == 0) pool.output.scale = pool.input.scale;
    const bool varies = i % 2 == 0;
    const std::int64_t count =
        varies ? random.uniform(1, pool.window.kernel_h) * random.uniform(1, pool.window.kernel_w)
               : pool.window.kernel_h * pool.window.kernel_w;
    before += differing(pool, count, 300, random);
    const float scale = scale_without_ties(pool.input, pool.output, pool.window, varies);
    EXPECT_GE(scale, pool.output.scale);
    EXPECT_LE(scale, pool.output.scale * 1.0625F);
    pool.output.scale = scale;
    EXPECT_EQ(differing(pool, count, 300, random), 0) << i;
  }
  EXPECT_GT(before, 100);
}

TEST(PoolTies, AnOddZeroPointMovesToTheEndThatHasLevelsLeft) {
  const Quantization odd{0.5F, 101};  // -50.5..77
  EXPECT_EQ(even_zero_point(odd, -50.5F, 70.0F), 102);
  EXPECT_EQ(even_zero_point(odd, -45.0F, 77.0F), 100);
  EXPECT_EQ(even_zero_point({0.5F, 255}, -127.5F, 0.0F), 254);
  EXPECT_EQ(even_zero_point({0.5F, -127, -127, 127}, 0.0F, 10.0F), -126);
  EXPECT_EQ(even_zero_point({0.5F, 100}, -50.0F, 10.0F), 100);
}

TEST(PoolTies, AnOddMiddleMovesUpWithItsLevels) {
  EXPECT_EQ(with_even_middle({0.5F, 127, 0, 254}), (Quantization{0.5F, 128, 1, 255}));
  EXPECT_EQ(with_even_middle({0.5F, 7, 0, 14}), (Quantization{0.5F, 8, 1, 15}));
  // Where the levels fill the type, as those of the network's input do.
  EXPECT_EQ(with_even_middle({0.5F, 127, 0, 255}), (Quantization{0.5F, 128, 0, 255}));
  for (const Quantization& even :
       {Quantization{0.5F, 128, 0, 255}, {0.5F, 0, 0, 254}, {0.5F, 0, -127, 127}}) {
    EXPECT_EQ(with_even_middle(even), even);
  }
}

TEST(PoolTies, AScaleFarFromTiesStays) {
  Pool pool{{0.03F, 3}, {0.03F, 5}, {}};
  pool.window.kernel_h = pool.window.kernel_w = 3;
  EXPECT_EQ(scale_without_ties(pool.input, pool.output, pool.window, false), 0.03F);
}

}  // namespace
}  // namespace qsim::quantize
