// What `eval` counts: the best classes of an output, shares, McNemar's test, and predictions that
// were kept.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "cli/session/eval/kept_predictions.h"
#include "cli/session/eval/statistics.h"
#include "core/base/random.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace cli;
namespace {

using Best = std::array<std::int32_t, kBestClasses>;

std::vector<std::byte> bytes_of(const std::vector<int>& levels) {
  std::vector<std::byte> bytes;
  for (const int level : levels) bytes.push_back(static_cast<std::byte>(level & 0xff));
  return bytes;
}

Prediction predicting(int best) {
  Prediction prediction;
  prediction.best = {best, -1, -1, -1, -1};
  return prediction;
}

TEST(Predictions, AreTheFirstOfTheLargestAsSignedOrUnsigned) {
  const std::vector<std::byte> levels = bytes_of({3, -1, 7, 7, 0, -128, 5});
  EXPECT_EQ(prediction_of(levels, false).best, (Best{2, 3, 6, 0, 4}));
  EXPECT_EQ(prediction_of(levels, true).best, (Best{1, 5, 2, 3, 6}));
  EXPECT_EQ(prediction_of(bytes_of({1, 2}), false).best, (Best{1, 0, -1, -1, -1}));
  const float nan = std::nanf("");
  EXPECT_EQ(prediction_of(std::vector<float>{nan, -2.0f, -1.5f, nan, -1.5f, -9.0f}).best,
            (Best{2, 4, 1, 5, 0}));
}

TEST(Predictions, OfOtherBytesHaveAnotherFingerprint) {
  const std::uint64_t one = prediction_of(bytes_of({1, 2, 3}), false).bytes;
  EXPECT_EQ(prediction_of(bytes_of({1, 2, 3}), true).bytes, one);
  EXPECT_NE(prediction_of(bytes_of({1, 3, 2}), false).bytes, one);
  EXPECT_NE(prediction_of(bytes_of({1, 2, 4}), false).bytes, one);
}

TEST(EvalScore, CountsEachPictureAtItsLabelAndPrediction) {
  std::vector<Prediction> predictions;
  for (const Best& best : {Best{2, 1, 0, -1, -1}, Best{0, 1, 2, -1, -1}, Best{2, 0, 1, -1, -1},
                           Best{1, 2, 0, -1, -1}}) {
    predictions.push_back({best, 0});
  }
  const std::vector<int> labels = {2, 1, 2, 0};
  const SeriesScore score = score_of(predictions, labels, 3);
  EXPECT_EQ(score.pictures, 4);
  EXPECT_EQ(score.top1, 2);
  EXPECT_EQ(score.top5, 4);
  EXPECT_EQ(score.confusion, (std::vector<std::int64_t>{0, 1, 0, 1, 0, 0, 0, 0, 2}));
  EXPECT_EQ(score.classes[2].pictures, 2);
  EXPECT_EQ(score.classes[2].right, 2);
  EXPECT_EQ(score.classes[0].right, 0);
  EXPECT_DOUBLE_EQ(score.standard_error(), 0.25);
  EXPECT_TRUE(score_of(predictions, labels, kMostConfusionClasses + 1).confusion.empty());
}

// n choose k by Pascal's triangle, exact up to n = 50.
double exact_p(int a, int b) {
  const int n = a + b;
  std::vector<std::uint64_t> row = {1};
  for (int i = 1; i <= n; ++i) {
    std::vector<std::uint64_t> next(row.size() + 1, 1);
    for (std::size_t k = 1; k < row.size(); ++k) next[k] = row[k - 1] + row[k];
    row = std::move(next);
  }
  std::uint64_t sum = 0;
  for (int i = 0; i <= std::min(a, b); ++i) sum += row[static_cast<std::size_t>(i)];
  return std::min(1.0, 2 * std::ldexp(static_cast<double>(sum), -n));
}

TEST(McNemar, IsTheSumOfBinomialsForEverySplitOfUpTo50) {
  for (int n = 0; n <= 50; ++n) {
    for (int a = 0; a <= n; ++a) {
      const double expected = exact_p(a, n - a);
      ASSERT_NEAR(exact_mcnemar_p(a, n - a), expected, 1e-12 * expected) << a << " " << n - a;
    }
  }
}

TEST(McNemar, HoldsForLargeCounts) {
  // By Python's integers: 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n.
  EXPECT_NEAR(exact_mcnemar_p(450, 550) / 0.0017305360849763176, 1, 1e-9);
  EXPECT_NEAR(exact_mcnemar_p(20000, 19500) / 0.012046830244306264, 1, 1e-9);
  EXPECT_NEAR(exact_mcnemar_p(3, 200) / 2.1693555718929497e-55, 1, 1e-9);
  EXPECT_EQ(exact_mcnemar_p(0, 5000), 0);
  EXPECT_EQ(exact_mcnemar_p(70000, 70000), 1);
}

TEST(EvalPairs, CountWhoIsRightAloneOfThePicturesThatBothHave) {
  const std::vector<int> labels = {0, 1, 1, 0, 1};
  std::vector<Prediction> first;
  std::vector<Prediction> second;
  for (const int best : {0, 1, 0, 1, 1}) first.push_back(predicting(best));
  for (const int best : {0, 0, 1, 1}) second.push_back(predicting(best));
  second[1].bytes = 7;
  const PairScore score =
      pair_score({first, {}, labels}, {second, {}, std::span(labels).first(4)}, true);
  EXPECT_EQ(score.pictures, 4);
  EXPECT_EQ(score.same_top1, 2);
  EXPECT_EQ(score.same_bytes, 3);
  EXPECT_EQ(score.both_right, 1);
  EXPECT_EQ(score.first_only, 1);
  EXPECT_EQ(score.second_only, 1);
  EXPECT_EQ(score.neither_right, 1);
  EXPECT_EQ(score.p, 1);
  EXPECT_FALSE(pair_score({first, {}, {}}, {second, {}, {}}, false).same_bytes.has_value());
}

TEST(OutputDistances, AreOfEachOutputThatBothHave) {
  const std::vector<float> a = {3, 0, -4, 1, 0, 0};
  const std::vector<float> b = {3, 2, -4.5f, 1};
  const PairScore score =
      pair_score({std::vector<Prediction>(3), a, {}}, {std::vector<Prediction>(2), b, {}}, false);
  EXPECT_EQ(score.distance.outputs, 4);
  EXPECT_EQ(score.distance.differing, 2);
  EXPECT_EQ(score.distance.largest, 2);
  EXPECT_EQ(score.distance.mean, 2.5 / 4);
  EXPECT_DOUBLE_EQ(score.distance.relative, std::sqrt(4.25 / 26));
  EXPECT_EQ(output_distance(a, a).relative, 0);
  EXPECT_EQ(output_distance({}, {}).mean, 0);
}

TEST(OutputDistances, LeaveOutWhatIsNotFinite) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {nan, nan, infinity, infinity, 2};
  const std::vector<float> b = {nan, 1, infinity, -infinity, 3};
  const OutputDistance distance = output_distance(a, b);
  EXPECT_EQ(distance.differing, 3);
  EXPECT_EQ(distance.largest, 1);
  EXPECT_EQ(distance.relative, 0.5);
}

// Rows of three classes.
PredictionTable seeded(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  PredictionTable table(count, 3);
  for (Prediction& prediction : table.predictions) {
    for (std::int32_t& best : prediction.best) best = static_cast<int>(random.uniform(-1, 999));
    prediction.bytes = random.next();
  }
  for (float& output : table.outputs)
    output = std::ldexp(1.7f, static_cast<int>(random.uniform(-149, 120)));
  return table;
}

bool operator==(const PredictionTable& a, const PredictionTable& b) {
  return a.predictions == b.predictions && a.outputs == b.outputs;
}

TEST(KeptPredictionsFile, GivesBackWhatWasKeptByKey) {
  const TemporaryFolder folder;
  PredictionTable first = seeded(3, 1);
  const PredictionTable second = seeded(4, 2);
  {
    KeptPredictions kept(folder.path() / "k");
    kept.keep("a", 0, first);
    kept.keep("b", 0, seeded(2, 9));
    kept.keep("a", 3, second);
    kept.keep("a", 3, seeded(4, 5));  // of no use: there are seven already
  }
  const KeptPredictions kept(folder.path() / "k");
  first.append(second);
  EXPECT_TRUE(kept.find("a", 3) == first);
  EXPECT_TRUE(kept.find("b", 3) == seeded(2, 9));
  EXPECT_TRUE(kept.find("b", 4).predictions.empty()) << "of other classes";
  EXPECT_TRUE(kept.find("c", 3).predictions.empty());
  first.cut(2);
  EXPECT_EQ(first.outputs.size(), 6u);
}

std::string one_row(const std::string& row) {
  return R"({"key":"a","first":0,"predictions":[[)" + row + "]]}";
}

TEST(KeptPredictionsFile, RefusesALineThatIsNoneOfItsOwn) {
  const std::string header = "{\"schema\":\"qsim.kept-predictions/2\"}\n";
  const std::string good =
      R"({"key":"a","first":0,"predictions":[[[1,2,3,4,5],"00000000000000ff","3fc00000c0000000"]]})";
  const TemporaryFolder folder;
  const PredictionTable table =
      KeptPredictions(folder.file("good", header + good + "\n")).find("a", 2);
  EXPECT_EQ(table.predictions.at(0).bytes, 255u);
  EXPECT_EQ(table.outputs, (std::vector<float>{1.5f, -2}));
  for (const std::string& line :
       {std::string("x"), std::string("[]"), std::string(R"({"key":"a","first":0})"),
        std::string(R"({"key":"a","first":-7,"predictions":[]})"),
        one_row(R"([1,2,3,4],"00000000000000ff","3fc00000")"),
        one_row(R"([1,2,3,4,5],"ff","3fc00000")"),
        one_row(R"([1,2,3,4,5],"zz000000000000ff","3fc00000")"),
        one_row(R"([1,2,3,4,5e9],"00000000000000ff","3fc00000")"),
        one_row(R"([1,2,3,4,5],"00000000000000ff")"),
        one_row(R"([1,2,3,4,5],"00000000000000ff","")"),
        one_row(R"([1,2,3,4,5],"00000000000000ff","3fc0000")"),
        one_row(R"([1,2,3,4,5],"00000000000000ff","3fc0000g")"),
        one_row(R"([1,2,3,4,5],"00000000000000ff","3fc00000"],)"
                R"([[1,2,3,4,5],"00000000000000ff","3fc000003fc00000")")}) {
    expect_contains(
        error_of([&] { KeptPredictions(folder.file("bad", header + good + "\n" + line + "\n")); }),
        "bad:3: is not a prediction that was kept; remove the line, or the file");
  }
}

}  // namespace
}  // namespace qsim
