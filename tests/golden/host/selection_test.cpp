// What chooses elements by index or by value, and what samples them: gathers, scatters, resizes.
#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

TEST(HostSelection, GathersCountFromEitherEnd) {
  const auto x = counted({2, 3});
  EXPECT_EQ(OneNode("Gather").with("axis", Int{1}).input(x).input(i64({2}, {-1, 0})).result(),
            f32({2, 2}, {3, 1, 6, 4}));
  EXPECT_EQ(OneNode("Gather").input(x).input(i32({}, {1})).result(), f32({3}, {4, 5, 6}));
  EXPECT_EQ(
      OneNode("GatherElements").with("axis", Int{1}).input(x).input(i64({2, 1}, {2, -3})).result(),
      f32({2, 1}, {3, 4}));
  EXPECT_EQ(OneNode("GatherND").input(x).input(i64({2, 2}, {1, 0, 0, -1})).result(),
            f32({2}, {4, 3}));
  EXPECT_EQ(
      OneNode("GatherND").with("batch_dims", Int{1}).input(x).input(i64({2, 1}, {1, 2})).result(),
      f32({2}, {2, 6}));
  OneNode("Gather").input(x).input(i64({1}, {2})).error(kBad);
  OneNode("Gather").input(x).input(i64({1}, {-3})).error(kBad);
  OneNode("GatherElements").input(x).input(i64({1, 1}, {INT64_MIN})).error(kBad);
  OneNode("GatherND").input(x).input(i64({1, 2}, {0, 3})).error(kBad);
}

TEST(HostSelection, ScattersReplaceAddOrMultiply) {
  const auto elements_of = [](const std::string& reduction) {
    return OneNode("ScatterElements", 18)
        .with("reduction", reduction)
        .input(counted({3}))
        .input(list({2, 0, 2}))
        .input(f32({3}, {10, 20, 30}))
        .result();
  };
  EXPECT_EQ(elements_of("none"), f32({3}, {20, 2, 30}));
  EXPECT_EQ(elements_of("add"), f32({3}, {21, 2, 43}));
  EXPECT_EQ(elements_of("mul"), f32({3}, {20, 2, 900}));
  EXPECT_EQ(elements_of("max"), f32({3}, {20, 2, 30}));
  EXPECT_EQ(elements_of("min"), f32({3}, {1, 2, 3}));
  EXPECT_EQ(OneNode("ScatterND")
                .input(counted({2, 2}))
                .input(i64({1, 1}, {-1}))
                .input(f32({1, 2}, {8, 9}))
                .result(),
            f32({2, 2}, {1, 2, 8, 9}));
  OneNode("ScatterND")
      .input(counted({2, 2}))
      .input(i64({1, 1}, {2}))
      .input(f32({1, 2}, {8, 9}))
      .error(kBad);
}

TEST(HostSelection, TheBestComeInOrderAndTiesByIndex) {
  const auto best = [](Int largest) {
    return OneNode("TopK")
        .with("largest", largest)
        .input(f32({4}, {5, 9, 5, 1}))
        .input(list({3}))
        .outputs(2)
        .results();
  };
  EXPECT_EQ(best(1), (std::vector<Tensor>{f32({3}, {9, 5, 5}), list({1, 0, 2})}));
  EXPECT_EQ(best(0), (std::vector<Tensor>{f32({3}, {1, 5, 5}), list({3, 0, 2})}));
  OneNode("TopK").input(counted({2})).input(list({3})).outputs(2).error(kBad);
}

TEST(HostSelection, WhatIsFoundDependsOnTheNumbers) {
  EXPECT_EQ(OneNode("NonZero").input(f32({2, 2}, {0, 7, 8, 0})).result(),
            i64({2, 2}, {0, 1, 1, 0}));
  EXPECT_EQ(OneNode("Compress")
                .with("axis", Int{1})
                .input(counted({2, 3}))
                .input(bools({3}, {1, 0, 1}))
                .result(),
            f32({2, 2}, {1, 3, 4, 6}));
  EXPECT_EQ(OneNode("Unique").input(f32({4}, {3, 1, 3, 2})).outputs(4).results(),
            (std::vector<Tensor>{f32({3}, {1, 2, 3}), list({1, 3, 0}), list({2, 0, 2, 1}),
                                 list({1, 1, 2})}));
  EXPECT_EQ(OneNode("OneHot")
                .input(i64({2}, {1, -1}))
                .input(i64({}, {3}))
                .input(f32({2}, {5, 7}))
                .result(),
            f32({2, 3}, {5, 7, 5, 5, 5, 7}));
}

TEST(HostSelection, BoxesThatOverlapABetterOneAreSuppressed) {
  EXPECT_EQ(OneNode("NonMaxSuppression")
                .input(f32({1, 3, 4}, {0, 0, 4, 4, 0, 1, 4, 5, 6, 6, 8, 8}))
                .input(f32({1, 1, 3}, {0.5F, 0.75F, 0.25F}))
                .input(list({3}))
                .input(f32({1}, {0.5F}))
                .result(),
            i64({2, 3}, {0, 0, 1, 0, 0, 2}));
}

TEST(HostResize, NearestAndLinearMapPixelsAsTheyAreTold) {
  const auto resize = [](const std::string& mode, const std::string& where, float scale) {
    return OneNode("Resize")
        .with("mode", mode)
        .with("coordinate_transformation_mode", where)
        .with("nearest_mode", std::string("floor"))
        .input(counted({1, 1, 4}))
        .absent()
        .input(f32({3}, {1, 1, scale}))
        .result();
  };
  EXPECT_EQ(resize("nearest", "asymmetric", 2), f32({1, 1, 8}, {1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(resize("linear", "half_pixel", 0.5F), f32({1, 1, 2}, {1.5F, 3.5F}));
  EXPECT_EQ(resize("linear", "asymmetric", 2), f32({1, 1, 8}, {1, 1.5F, 2, 2.5F, 3, 3.5F, 4, 4}));
  EXPECT_EQ(OneNode("Resize")
                .with("mode", std::string("linear"))
                .with("coordinate_transformation_mode", std::string("align_corners"))
                .input(f32({1, 1, 1, 2}, {2, 6}))
                .absent()
                .absent()
                .input(list({1, 1, 1, 5}))
                .result(),
            f32({1, 1, 1, 5}, {2, 3, 4, 5, 6}));
  EXPECT_EQ(OneNode("Upsample", 9)
                .input(f32({1, 1, 1, 2}, {3, 5}))
                .input(f32({4}, {1, 1, 2, 2}))
                .result(),
            f32({1, 1, 2, 4}, {3, 3, 5, 5, 3, 3, 5, 5}));
}

TEST(HostSampling, GridsColumnsAndMaximaFindTheirPlaces) {
  EXPECT_EQ(OneNode("GridSample")
                .with("align_corners", Int{1})
                .input(counted({1, 1, 2, 2}))
                .input(f32({1, 1, 3, 2}, {-1, -1, 1, 1, 0, 0}))
                .result(),
            f32({1, 1, 1, 3}, {1, 4, 2.5F}));
  EXPECT_EQ(OneNode("MaxUnpool")
                .with("kernel_shape", Integers{2})
                .with("strides", Integers{2})
                .input(f32({1, 1, 2}, {5, 7}))
                .input(i64({1, 1, 2}, {1, 2}))
                .result(),
            f32({1, 1, 4}, {0, 5, 7, 0}));
  EXPECT_EQ(OneNode("Col2Im", 18)
                .input(counted({1, 2, 2}))
                .input(list({1, 3}))
                .input(list({1, 2}))
                .result(),
            f32({1, 1, 1, 3}, {1, 5, 4}));
}

}  // namespace
}  // namespace qsim::golden
