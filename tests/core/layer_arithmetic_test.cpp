// How many positions an average counts, and the requantizers and adders that the scales of tensors
// give.
#include "core/network/layer_arithmetic.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim {
namespace {

Value value_of(ImageShape shape, float scale, std::int32_t zero_point = 0) {
  return {shape, DType::kInt8, zero_point, Scale::of(scale)};
}

// Positions of a window by walking it: those of the picture, or of picture and pads.
std::int64_t walked(const AveragePool& pool, const ImageShape& in, std::int64_t oy,
                    std::int64_t ox) {
  const Window& w = pool.window;
  std::int64_t count = 0;
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t y = oy * w.stride_h + ky - w.pad_top;
      const std::int64_t x = ox * w.stride_w + kx - w.pad_left;
      const bool inside = y >= 0 && y < in.height && x >= 0 && x < in.width;
      const bool in_pads = y >= -w.pad_top && y < in.height + w.pad_bottom && x >= -w.pad_left &&
                           x < in.width + w.pad_right;
      count += pool.count_include_pad ? in_pads : inside;
    }
  }
  return count;
}

TEST(AverageCount, CountsThePositionsThatAWalkOverTheWindowFinds) {
  const std::uint64_t seed = 31;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int partial = 0;
  for (int i = 0; i < 3000; ++i) {
    AveragePool pool;
    Window& w = pool.window;
    w.kernel_h = random.uniform(1, 5);
    w.kernel_w = random.uniform(1, 5);
    w.stride_h = random.uniform(1, 4);
    w.stride_w = random.uniform(1, 4);
    w.pad_top = random.uniform(0, w.kernel_h - 1);
    w.pad_left = random.uniform(0, w.kernel_w - 1);
    w.pad_bottom = random.uniform(0, w.kernel_h - 1);
    w.pad_right = random.uniform(0, w.kernel_w - 1);
    pool.count_include_pad = random.chance(0.5);
    const ImageShape in{1, random.uniform(w.kernel_h, 9), random.uniform(w.kernel_w, 9), 1};
    const auto rows =
        window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, true);
    const auto cols = window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, true);
    for (std::int64_t oy = 0; oy < rows; ++oy) {
      for (std::int64_t ox = 0; ox < cols; ++ox) {
        const std::int64_t count = average_count(pool, in, oy, ox);
        ASSERT_EQ(count, walked(pool, in, oy, ox)) << "case " << i << " at " << oy << ", " << ox;
        ASSERT_GE(count, 1);
        partial += count < w.kernel_h * w.kernel_w;
      }
    }
  }
  EXPECT_GT(partial, 1000);
}

TEST(AverageRequantizer, IsTheQuotientOfTheScalesInFloat32) {
  const ImageShape picture{1, 7, 7, 1};
  AveragePool pool;
  const Value input = value_of(picture, 0.1F);
  const Value output = value_of({1, 1, 1, 1}, 0.3F);
  for (const std::int64_t count : {1, 6, 49}) {
    const float divisor = 0.3F * static_cast<float>(count);
    const auto requantizer = average_requantizer(pool, input, output, count);
    ASSERT_TRUE(requantizer.has_value());
    EXPECT_EQ(real_scale(*requantizer), 0.1F / divisor);
    EXPECT_EQ(requantizer->rounding, RequantizerRounding::kFloat32);
  }
  pool.rounding = RequantizerRounding::kHalfEven;
  EXPECT_EQ(average_requantizer(pool, input, output, 49)->rounding, RequantizerRounding::kHalfEven);
}

TEST(AverageRequantizer, IsAbsentWhereAScaleOrAQuotientIsNone) {
  const AveragePool pool;
  const ImageShape pixel{1, 1, 1, 1};
  const Value none{pixel, DType::kInt8, 0, std::nullopt};
  EXPECT_FALSE(average_requantizer(pool, none, value_of(pixel, 1), 4).has_value());
  EXPECT_FALSE(average_requantizer(pool, value_of(pixel, 1), none, 4).has_value());
  EXPECT_FALSE(
      average_requantizer(pool, value_of(pixel, 1e-40F), value_of(pixel, 1e30F), 4).has_value());
  EXPECT_FALSE(
      average_requantizer(pool, value_of(pixel, 1e30F), value_of(pixel, 1e-40F), 4).has_value());
}

TEST(AdderOfAnAdd, TakesScalesAndZeroPointsFromTheTensors) {
  const ImageShape pixel{1, 1, 1, 1};
  const Add add{.rounding = RequantizerRounding::kHalfEven};
  const auto adder =
      adder_of(add, value_of(pixel, 0.5F, 3), value_of(pixel, 0.25F, -2), value_of(pixel, 1.0F, 9));
  ASSERT_TRUE(adder.has_value());
  const std::int64_t one = std::int64_t{1} << kAdderFractionBits;
  EXPECT_EQ(*adder, (Adder{one / 2, one / 4, -(3 * (one / 2) - 2 * (one / 4)),
                           RequantizerRounding::kHalfEven}));
  // (7 - 3) / 2 + (2 + 2) / 4 + 9
  EXPECT_EQ(add_levels(7, 2, *adder, 9, -128, 127), 12);
  const Value none{pixel, DType::kInt8, 0, std::nullopt};
  EXPECT_FALSE(adder_of(add, none, value_of(pixel, 1), value_of(pixel, 1)).has_value());
  EXPECT_FALSE(adder_of(add, value_of(pixel, 1), none, value_of(pixel, 1)).has_value());
  EXPECT_FALSE(adder_of(add, value_of(pixel, 1), value_of(pixel, 1), none).has_value());
}

}  // namespace
}  // namespace qsim
