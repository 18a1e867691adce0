// 4-bit weights in the layouts of GPTQ, AWQ and Marlin: where each number is, and nothing is lost.
#include "golden/kernels/linear/int4_layouts.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden {
namespace {

constexpr Int4Layout kLayouts[] = {Int4Layout::kGptq, Int4Layout::kGptqV2, Int4Layout::kAwq,
                                   Int4Layout::kMarlin};
constexpr std::size_t kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};

// Zero_points and scales that every layout has: the layout's own differ with `layout`.
LinearWeights weights_for(Int4Layout layout, Random& random, std::int64_t n, std::int64_t k,
                          std::int64_t group) {
  LinearWeights weights = random_weights(random, n, k, group, 4);
  for (float& scale : weights.scales) {
    scale = float_of(decode<kFp16>(static_cast<std::uint32_t>(random.uniform(1, 0x7BFF))));
  }
  for (std::uint8_t& zero_point : weights.zero_points) {
    if (layout == Int4Layout::kGptq) ++zero_point;
    if (layout == Int4Layout::kMarlin) zero_point = 8;
  }
  return weights;
}

std::size_t nibble(std::int32_t word, std::size_t i) {
  return static_cast<std::uint32_t>(word) >> (4 * i) & 15;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Int4Layouts, LoseNothing) {
  Random random(11);
  for (const Int4Layout layout : kLayouts) {
    for (const std::int64_t group : {0, 32, 64, 128}) {
      const LinearWeights weights = weights_for(layout, random, 128, 272, group);
      const Int4Tensors tensors = write_int4(layout, weights);
      EXPECT_EQ(read_int4(layout, tensors, 128, 272, group), weights);
      EXPECT_EQ(write_int4(layout, read_int4(layout, tensors, 128, 272, group)), tensors);
    }
  }
}

TEST(Int4Layouts, GptqPacksInputFeaturesAndStoresZeroPointsMinusOne) {
  Random random(12);
  const LinearWeights weights = weights_for(Int4Layout::kGptq, random, 16, 64, 32);
  const Int4Tensors tensors = write_int4(Int4Layout::kGptq, weights);
  for (std::size_t k = 0; k < 64; ++k) {
    for (std::size_t n = 0; n < 16; ++n) {
      ASSERT_EQ(nibble(tensors.qweight[k / 8 * 16 + n], k % 8),
                static_cast<std::size_t>(weights.values[n * 64 + k]));
      ASSERT_EQ(nibble(tensors.qzeros[k / 32 * 2 + n / 8], n % 8) + 1,
                weights.zero_points[n * 2 + k / 32]);
      ASSERT_EQ(float_of(decode<kFp16>(tensors.scales[k / 32 * 16 + n])),
                weights.scales[n * 2 + k / 32]);
    }
  }
}

TEST(Int4Layouts, AwqPacksOutputChannelsInItsOrder) {
  Random random(13);
  const LinearWeights weights = weights_for(Int4Layout::kAwq, random, 16, 64, 32);
  const Int4Tensors tensors = write_int4(Int4Layout::kAwq, weights);
  for (std::size_t word = 0; word < 2; ++word) {
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t n = 8 * word + kOrder[i];
      for (std::size_t k = 0; k < 64; ++k) {
        ASSERT_EQ(nibble(tensors.qweight[k * 2 + word], i),
                  static_cast<std::size_t>(weights.values[n * 64 + k]));
        ASSERT_EQ(nibble(tensors.qzeros[k / 32 * 2 + word], i),
                  weights.zero_points[n * 2 + k / 32]);
      }
    }
  }
}

TEST(Int4Layouts, MarlinHasTheOperandsOfEachThreadTogether) {
  Random random(14);
  const LinearWeights weights = weights_for(Int4Layout::kMarlin, random, 128, 32, 0);
  const Int4Tensors tensors = write_int4(Int4Layout::kMarlin, weights);
  for (std::size_t place = 0; place < tensors.qweight.size(); ++place) {
    const std::size_t block = place % 256 / 128;
    const std::size_t thread = place % 128 / 4;
    const std::size_t tile = place % 4;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t number = kOrder[i];
      const std::size_t rows[] = {0, 1, 8, 9};
      const std::size_t k = place / 256 * 16 + 2 * (thread % 4) + rows[number % 4];
      const std::size_t n = block * 64 + tile * 16 + thread / 4 + 8 * (number / 4);
      ASSERT_EQ(nibble(tensors.qweight[place], i),
                static_cast<std::size_t>(weights.values[n * 32 + k]));
    }
  }
  const std::size_t sources[] = {0, 1, 8, 9, 16, 17, 24, 25};
  for (std::size_t place = 0; place < 128; ++place) {
    const std::size_t n = place / 32 * 32 + place % 32 / 8 * 2 + sources[place % 8];
    ASSERT_EQ(float_of(decode<kFp16>(tensors.scales[place])), weights.scales[n]);
  }
  const LinearWeights grouped = weights_for(Int4Layout::kMarlin, random, 64, 64, 32);
  const Int4Tensors of_groups = write_int4(Int4Layout::kMarlin, grouped);
  for (std::size_t place = 0; place < 128; ++place) {
    const std::size_t n = place % 64 / 8 + 8 * (place % 8);
    ASSERT_EQ(float_of(decode<kFp16>(of_groups.scales[place])), grouped.scales[n * 2 + place / 64]);
  }
}

TEST(Int4Layouts, RefuseWhatTheyCannotHold) {
  Random random(15);
  LinearWeights weights = weights_for(Int4Layout::kAwq, random, 8, 64, 32);
  const auto write = [&](Int4Layout layout) {
    return error_of([&] { write_int4(layout, weights); });
  };
  EXPECT_EQ(write(Int4Layout::kMarlin),
            "linear: 4-bit weights [8, 64]; the layout has multiples of 64 output channels and of "
            "16 input features");
  weights.zero_points[3] = 0;
  EXPECT_EQ(write(Int4Layout::kAwq), "no error");
  weights.zero_points.assign(16, 5);
  weights.zero_points[3] = 0;
  EXPECT_EQ(write(Int4Layout::kGptq), "linear: zero_point[1, 1] is 0; the layout has 1 to 16");
  weights.scales[2] = 1 + 0x1p-12F;
  EXPECT_EQ(write(Int4Layout::kAwq),
            "linear: scale[1, 0] is no FP16 number; the layout has FP16 scales");
  weights = random_weights(random, 8, 8, 0, 8);
  EXPECT_EQ(write(Int4Layout::kAwq), "linear: weights of 8 bits; the layout has 4-bit weights");
  weights = weights_for(Int4Layout::kGptq, random, 8, 64, 32);
  Int4Tensors tensors = write_int4(Int4Layout::kGptq, weights);
  const auto read = [&] {
    return error_of([&] { read_int4(Int4Layout::kGptq, tensors, 8, 64, 32); });
  };
  for (int k = 0; k < 64; ++k) tensors.group_index.push_back(k / 32);
  EXPECT_EQ(read(), "no error");
  std::swap(tensors.group_index[5], tensors.group_index[40]);
  EXPECT_EQ(read(),
            "linear: input feature 5 is in group 1; only groups in ascending order are supported");
  tensors.group_index.pop_back();
  EXPECT_EQ(read(), "linear: group_index has 63 numbers; the layout has 64");
  tensors.qweight.pop_back();
  EXPECT_EQ(read(), "linear: qweight has 63 numbers; the layout has 64");
}

}  // namespace
}  // namespace qsim::golden
