// Operators over axes: reductions, normalizations, running sums.
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

// Of {1, 2, 3}, {4, 5, 6}.
OneNode reduced(const std::string& op, const Integers& axes, std::int64_t keepdims = 1) {
  return OneNode(op).with("axes", axes).with("keepdims", keepdims).input(counted({2, 3}));
}

TEST(HostAxes, SumsKeepOrDropTheirAxes) {
  const auto sum = [](const OneNode& node) { return node.result(); };
  EXPECT_EQ(sum(OneNode("ReduceSum").input(counted({2, 3})).input(list({1}))),
            f32({2, 1}, {6, 15}));
  EXPECT_EQ(sum(OneNode("ReduceSum")
                    .with("keepdims", std::int64_t{0})
                    .input(counted({2, 3}))
                    .input(list({-2}))),
            f32({3}, {5, 7, 9}));
  EXPECT_EQ(sum(OneNode("ReduceSum").input(counted({2, 3}))), f32({1, 1}, {21}));
  EXPECT_EQ(sum(OneNode("ReduceSum")
                    .with("noop_with_empty_axes", std::int64_t{1})
                    .input(counted({2, 3}))),
            counted({2, 3}));
  EXPECT_EQ(sum(OneNode("ReduceSum", 11).with("axes", Integers{0, 1}).input(counted({2, 3}))),
            f32({1, 1}, {21}));
  EXPECT_EQ(sum(OneNode("ReduceSum").input(i64({2, 2}, {1, 2, 3, 4})).input(list({0}))),
            i64({1, 2}, {4, 6}));
}

TEST(HostAxes, EachReductionIsItsFunction) {
  EXPECT_EQ(reduced("ReduceMean", {1}).result(), f32({2, 1}, {2, 5}));
  EXPECT_EQ(reduced("ReduceMax", {0}).result(), f32({1, 3}, {4, 5, 6}));
  EXPECT_EQ(reduced("ReduceMin", {1}, 0).result(), f32({2}, {1, 4}));
  EXPECT_EQ(reduced("ReduceProd", {1}).result(), f32({2, 1}, {6, 120}));
  EXPECT_EQ(reduced("ReduceSumSquare", {1}).result(), f32({2, 1}, {14, 77}));
  EXPECT_EQ(OneNode("ReduceL1").input(f32({3}, {1, -2, 4})).result(), f32({1}, {7}));
  EXPECT_EQ(OneNode("ReduceL2").input(f32({2}, {3, -4})).result(), f32({1}, {5}));
  expect_near(OneNode("ReduceLogSum").input(f32({2}, {2, 3})).result(), {1.6094379124341003});
  expect_near(OneNode("ReduceLogSumExp").input(f32({2}, {100, 101})).result(),
              {101.31326168751822});
  EXPECT_EQ(OneNode("ReduceMax", 20).input(bools({2, 2}, {0, 1, 0, 0})).input(list({1})).result(),
            bools({2, 1}, {1, 0}));
  EXPECT_EQ(OneNode("ReduceMean", 18).input(counted({2, 3})).input(list({0})).result(),
            f32({1, 3}, {2.5F, 3.5F, 4.5F}));
}

TEST(HostAxes, AxesBeyondTheRankAreRefused) {
  reduced("ReduceMean", {2}).error(kBad);
  OneNode("Softmax").with("axis", std::int64_t{-3}).input(counted({2, 3})).error(kBad);
}

TEST(HostAxes, TheFirstOfEqualsIsTheLargestUnlessTheLastIsAskedFor) {
  const auto x = f32({2, 3}, {7, 9, 9, 8, 2, 2});
  EXPECT_EQ(OneNode("ArgMax").with("axis", std::int64_t{1}).input(x).result(), i64({2, 1}, {1, 0}));
  EXPECT_EQ(OneNode("ArgMin")
                .with("axis", std::int64_t{1})
                .with("select_last_index", std::int64_t{1})
                .with("keepdims", std::int64_t{0})
                .input(x)
                .result(),
            i64({2}, {0, 2}));
  EXPECT_EQ(OneNode("ArgMax").input(x).result(), i64({1, 3}, {1, 0, 0}));
}

TEST(HostAxes, SoftmaxIsOfOneAxisAndBefore13OfAllFromItOn) {
  constexpr float kLog3 = 1.0986122887F;
  const auto x = f32({1, 2, 2}, {0, kLog3, 5, 5 + kLog3});
  expect_near(OneNode("Softmax").input(x).result(), {0.25, 0.75, 0.25, 0.75});
  const auto y = f32({1, 2, 2}, {0, kLog3, 0, kLog3});
  expect_near(OneNode("Softmax", 11).input(y).result(), {0.125, 0.375, 0.125, 0.375});
  expect_near(OneNode("Softmax").with("axis", std::int64_t{1}).input(y).result(),
              {0.5, 0.5, 0.5, 0.5});
  expect_near(OneNode("LogSoftmax").input(f32({2}, {1000, 1000 + kLog3})).result(),
              {-1.3862943611, -0.2876820724}, 2e-4);
  EXPECT_EQ(OneNode("Hardmax").input(f32({2, 3}, {1, 3, 3, 4, 2, 1})).result(),
            f32({2, 3}, {0, 1, 0, 1, 0, 0}));
}

TEST(HostAxes, RunningSumsCanExcludeAndReverse) {
  const auto run = [](std::int64_t exclusive, std::int64_t reverse) {
    return OneNode("CumSum")
        .with("exclusive", exclusive)
        .with("reverse", reverse)
        .input(f32({3}, {1, 2, 3}))
        .input(i32({}, {0}))
        .result();
  };
  EXPECT_EQ(run(0, 0), f32({3}, {1, 3, 6}));
  EXPECT_EQ(run(1, 0), f32({3}, {0, 1, 3}));
  EXPECT_EQ(run(0, 1), f32({3}, {6, 5, 3}));
  EXPECT_EQ(run(1, 1), f32({3}, {5, 3, 0}));
  EXPECT_EQ(OneNode("CumSum").input(counted({2, 3})).input(i64({}, {-1})).result(),
            f32({2, 3}, {1, 3, 6, 4, 9, 15}));
}

// Means and deviations by hand are whole without the epsilon that keeps a divisor from 0.
TEST(HostAxes, BatchNormalizationIsALinePerChannel) {
  expect_near(OneNode("BatchNormalization")
                  .with("epsilon", 0.0F)
                  .input(f32({1, 2, 2}, {3, 5, 3, 5}))
                  .input(f32({2}, {2, 1}))
                  .input(f32({2}, {1, 0}))
                  .input(f32({2}, {1, 3}))
                  .input(f32({2}, {4, 16}))
                  .result(),
              {3, 5, 0, 0.5});
}

TEST(HostAxes, LayerNormalizationTellsMeanAndDeviationToo) {
  const auto found = OneNode("LayerNormalization")
                         .with("epsilon", 0.0F)
                         .input(f32({2, 2}, {1, 3, 10, 18}))
                         .input(f32({2}, {2, 3}))
                         .input(f32({2}, {10, 20}))
                         .outputs(3)
                         .results();
  expect_near(found.at(0), {8, 23, 8, 23});
  EXPECT_EQ(found.at(1), f32({2, 1}, {2, 14}));
  expect_near(found.at(2), {1, 0.25});
}

TEST(HostAxes, OtherNormalizationsDivideByWhatTheyAreNamedAfter) {
  expect_near(OneNode("InstanceNormalization")
                  .with("epsilon", 0.0F)
                  .input(f32({1, 2, 2}, {1, 3, 2, 6}))
                  .input(f32({2}, {1, 5}))
                  .input(f32({2}, {4, 7}))
                  .result(),
              {3, 5, 2, 12});
  expect_near(OneNode("GroupNormalization", 21)
                  .with("num_groups", std::int64_t{1})
                  .with("epsilon", 0.0F)
                  .input(f32({1, 2, 1}, {1, 3}))
                  .input(f32({2}, {2, 3}))
                  .input(f32({2}, {5, 6}))
                  .result(),
              {3, 9});
  expect_near(OneNode("LpNormalization").input(f32({2}, {3, 4})).result(), {0.6, 0.8});
  expect_near(OneNode("RMSNormalization", 23)
                  .with("epsilon", 0.0F)
                  .input(f32({2}, {1, 7}))
                  .input(f32({2}, {10, 5}))
                  .result(),
              {2, 7});
  expect_near(OneNode("LRN")
                  .with("size", std::int64_t{3})
                  .with("alpha", 3.0F)
                  .with("beta", 1.0F)
                  .with("bias", 5.0F)
                  .input(f32({1, 3, 1, 1}, {1, 2, 5}))
                  .result(),
              {0.1, 2.0 / 35, 5.0 / 34});
  expect_near(microsoft("SkipLayerNormalization")
                  .with("epsilon", 0.0F)
                  .input(f32({1, 1, 2}, {1, 2}))
                  .input(f32({1, 1, 2}, {0, 1}))
                  .input(f32({2}, {2, 3}))
                  .input(f32({2}, {5, 6}))
                  .result(),
              {3, 9});
}

}  // namespace
}  // namespace qsim::golden
