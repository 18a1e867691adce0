// From a network's output to the best classes, their probabilities and names.
#include "cli/host_tensors/classes.h"

#include <gtest/gtest.h>

namespace qsim {

using namespace cli;
using namespace report;
namespace {

OutputForm form_of(ImageShape shape, int zero_point, std::optional<int> scale_exponent) {
  Value value{shape, DType::kInt8, zero_point, std::nullopt};
  if (scale_exponent) value.scale = Scale::power_of_two(-*scale_exponent);
  return {value, {}, std::nullopt};
}

TEST(Classes, TheBestAreSortedAndTheirProbabilitiesAreASoftmax) {
  const std::vector<OutputClass> top = top_classes({0, 1000, 999}, true, {}, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].index, 1);
  EXPECT_EQ(top[1].index, 2);
  EXPECT_EQ(top[2].index, 0);
  EXPECT_NEAR(*top[0].probability, 0.7310585786, 1e-9);
  EXPECT_EQ(top[0].label, "");
  EXPECT_FALSE(top_classes({1, 2}, false, {}, 1)[0].probability.has_value());
  EXPECT_TRUE(top_classes({}, true, {}, 3).empty());
}

TEST(Classes, OfEqualScoresTheFirstIsTheBest) {
  // Enough of them that a sort that is not stable changes their order.
  std::vector<double> scores(100, 3.0);
  scores[40] = 2.0;
  const std::vector<OutputClass> top = top_classes(scores, false, {}, 100);
  ASSERT_EQ(top.size(), 100u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(top[i].index, static_cast<std::int64_t>(i));
  EXPECT_EQ(top.back().index, 40);
}

TEST(Classes, ScoresAreTheRealNumbersOfTheWantedPicture) {
  const OutputForm form = form_of({2, 1, 1, 3}, 1, 2);
  Tensor output(DType::kInt8, {2, 1, 1, 3});
  const std::vector<int> values = {9, 8, 7, -3, 5, 1};
  for (std::size_t i = 0; i < values.size(); ++i) {
    output.as<std::int8_t>()[i] = static_cast<std::int8_t>(values[i]);
  }
  const std::vector<OutputClass> best = best_classes(output, form, 1, {"a", "b", "c"}, 2);
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].label, "b");
  EXPECT_EQ(best[0].score, 1.0);  // (5 - 1) / 4
  EXPECT_EQ(best[1].label, "c");
  EXPECT_EQ(best[1].score, 0.0);
}

TEST(Classes, WithoutAScaleAreRawValues) {
  const OutputForm form = form_of({1, 1, 1, 2}, 1, std::nullopt);
  Tensor output(DType::kInt8, {1, 1, 1, 2});
  output.as<std::int8_t>()[1] = 7;
  const OutputClass best = best_classes(output, form, 0, {}, 1).front();
  EXPECT_EQ(best.index, 1);
  EXPECT_EQ(best.score, 7.0);
  EXPECT_FALSE(best.probability.has_value());
}

TEST(Classes, AreOfVectorsOnly) {
  EXPECT_TRUE(has_classes(form_of({4, 1, 1, 2}, 0, 1)));
  EXPECT_FALSE(has_classes(form_of({1, 1, 1, 1}, 0, 1)));
  EXPECT_FALSE(has_classes(form_of({1, 1, 2, 2}, 0, 1)));
  EXPECT_FALSE(has_classes(form_of({1, 2, 1, 2}, 0, 1)));
}

}  // namespace
}  // namespace qsim
