// Metrics of a quantized tensor, by hand.
#include "quantize/ranges/tensor_error.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/random.h"

namespace qsim::quantize {
namespace {

TensorError error_of(const std::vector<float>& real, const std::vector<float>& quantized) {
  TensorError error;
  add_pairs(real, quantized, error);
  return error;
}

TEST(TensorError, MetricsOfAHandWorkedTensor) {
  const TensorError e = error_of({1, 2, 3}, {1, 3, 5});
  EXPECT_DOUBLE_EQ(mean_squared_error(e), 5.0 / 3);
  EXPECT_DOUBLE_EQ(sqnr_db(e), 10 * std::log10(14.0 / 5));
  EXPECT_DOUBLE_EQ(cosine_similarity(e), 22 / std::sqrt(14.0 * 35));
  EXPECT_DOUBLE_EQ(cosine_distance(e), 1 - 22 / std::sqrt(14.0 * 35));
  EXPECT_DOUBLE_EQ(pearson_correlation(e), 1);
  EXPECT_EQ(e.largest_error, 2);
  EXPECT_EQ(error_of({1, 2, 3}, {0, 3, 2.5F}).largest_error, 1);
  EXPECT_EQ(error_of({5, 2, 3}, {0, 3, 2.5F}).largest_error, 5);
  EXPECT_DOUBLE_EQ(pearson_correlation(error_of({1, 2, 3}, {3, 2, 1})), -1);
  EXPECT_DOUBLE_EQ(pearson_correlation(error_of({1, 2, 3, 4}, {1, 3, 2, 4})), 0.8);
}

TEST(TensorError, IsDefinedForZerosAndConstants) {
  const TensorError zeros = error_of({0, 0}, {0, 0});
  EXPECT_EQ(sqnr_db(zeros), HUGE_VAL);
  EXPECT_EQ(cosine_similarity(zeros), 1);
  EXPECT_EQ(cosine_distance(zeros), 0);
  EXPECT_EQ(pearson_correlation(zeros), 1);
  const TensorError lost = error_of({1, 2}, {0, 0});
  EXPECT_EQ(sqnr_db(lost), 0);
  EXPECT_EQ(cosine_similarity(lost), 0);
  EXPECT_EQ(pearson_correlation(lost), 0);
  const TensorError made = error_of({0, 0}, {1, 2});
  EXPECT_EQ(sqnr_db(made), -HUGE_VAL);
  EXPECT_EQ(cosine_similarity(made), 0);
  const std::vector<float> constant(1000, 0.3F);
  EXPECT_EQ(pearson_correlation(error_of(constant, constant)), 1);
  const TensorError none;
  EXPECT_EQ(mean_squared_error(none), 0);
  EXPECT_EQ(pearson_correlation(none), 1);
  EXPECT_EQ(share_clipped(none), 0);
  EXPECT_EQ(share_of_levels_used(none), 0);
}

TEST(TensorError, PairsThatAreNotFiniteAreOnlyCounted) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const TensorError e = error_of({1, nan, 3, infinity}, {2, 1, nan, 4});
  EXPECT_EQ(e.count, 1);
  EXPECT_EQ(e.not_finite, 3);
  EXPECT_EQ(mean_squared_error(e), 1);
}

TEST(TensorError, LevelsSayWhatIsClippedAndUsed) {
  // Levels -2..1 of steps of 0.5: -0.5 .. 1 with zero_point -1; half a step more is not clipped.
  const Quantization q{.scale = 0.5F, .zero_point = -1, .lo = -2, .hi = 1};
  const std::vector<float> real = {-0.76F, -0.75F, 0, 1.25F, 1.26F, 9};
  const std::vector<std::int8_t> levels = {-2, -2, -1, 1, 1, 1};
  TensorError e;
  add_levels(real, levels, q, e);
  EXPECT_EQ(e.clipped, 3);
  EXPECT_EQ(share_clipped(e), 0.5);
  EXPECT_EQ(share_of_levels_used(e), 0.75);
  EXPECT_EQ(e.largest_error, 8);
  EXPECT_DOUBLE_EQ(e.sum_quantized, -0.5 - 0.5 + 0 + 1 + 1 + 1);
  const std::vector<std::int8_t> beyond = {2};
  EXPECT_THROW(add_levels(std::vector<float>{1}, beyond, q, e), InternalError);
}

TEST(TensorError, PartsMergeToTheWhole) {
  Random random(5);
  std::vector<float> real(5000);
  std::vector<std::uint8_t> levels(real.size());
  const Quantization q{.scale = 0.125F, .zero_point = 100, .lo = 0, .hi = 255};
  for (std::size_t i = 0; i < real.size(); ++i) {
    levels[i] = static_cast<std::uint8_t>(random.uniform(3, 210));
    real[i] =
        static_cast<float>(levels[i] - 100) / 8 + static_cast<float>(random.uniform(-8, 8)) / 64;
  }
  TensorError whole;
  add_levels(real, levels, q, whole);
  TensorError merged;
  const std::span<const float> reals = real;
  const std::span<const std::uint8_t> all = levels;
  for (const auto& [first, length] : {std::pair{0U, 1U}, {1U, 1999U}, {2000U, 3000U}}) {
    TensorError part;
    add_levels(reals.subspan(first, length), all.subspan(first, length), q, part);
    merge(part, merged);
  }
  // Sums of multiples of 2^-12 are exact, so their order changes nothing.
  EXPECT_EQ(merged.count, whole.count);
  EXPECT_EQ(mean_squared_error(merged), mean_squared_error(whole));
  EXPECT_EQ(sqnr_db(merged), sqnr_db(whole));
  EXPECT_EQ(pearson_correlation(merged), pearson_correlation(whole));
  EXPECT_EQ(cosine_similarity(merged), cosine_similarity(whole));
  EXPECT_EQ(merged.largest_error, whole.largest_error);
  EXPECT_EQ(merged.used, whole.used);
  EXPECT_EQ(merged.clipped, whole.clipped);
  EXPECT_GT(share_of_levels_used(whole), 0.8);
}

}  // namespace
}  // namespace qsim::quantize
