// What moves elements: shapes, slices, pads, repetitions.
#include <utility>

#include <gtest/gtest.h>

#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

Tensor numbers(std::int64_t count) { return counted({count}); }

TEST(HostMovement, TransposeReversesUnlessItIsToldTheOrder) {
  EXPECT_EQ(OneNode("Transpose").input(counted({2, 3})).result(), f32({3, 2}, {1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(OneNode("Transpose").with("perm", Integers{1, 0, 2}).input(counted({2, 1, 2})).result(),
            counted({1, 2, 2}));
  EXPECT_EQ(OneNode("Transpose").with("perm", Integers{0, 2, 1}).input(counted({1, 2, 3})).result(),
            f32({1, 3, 2}, {1, 4, 2, 5, 3, 6}));
  OneNode("Transpose").with("perm", Integers{0, 0}).input(counted({2, 3})).error(kBad);
}

TEST(HostMovement, ConcatAndSplitAreInverse) {
  EXPECT_EQ(OneNode("Concat")
                .with("axis", Int{-1})
                .input(f32({2, 1}, {1, 4}))
                .input(f32({2, 2}, {2, 3, 5, 6}))
                .result(),
            counted({2, 3}));
  const auto split = [](const OneNode& node) { return node.results(); };
  const std::vector<Tensor> one_and_two = {f32({2, 1}, {1, 4}), f32({2, 2}, {2, 3, 5, 6})};
  EXPECT_EQ(split(OneNode("Split", 11)
                      .with("axis", Int{1})
                      .with("split", Integers{1, 2})
                      .input(counted({2, 3}))
                      .outputs(2)),
            one_and_two);
  EXPECT_EQ(split(OneNode("Split")
                      .with("axis", Int{-1})
                      .input(counted({2, 3}))
                      .input(list({1, 2}))
                      .outputs(2)),
            one_and_two);
  EXPECT_EQ(split(OneNode("Split", 18).with("num_outputs", Int{2}).input(numbers(5)).outputs(2)),
            (std::vector<Tensor>{f32({3}, {1, 2, 3}), f32({2}, {4, 5})}));
  OneNode("Split").input(numbers(5)).input(list({1, 2})).outputs(2).error(kBad);
  OneNode("Concat").with("axis", Int{0}).input(counted({2, 3})).input(counted({2, 2})).error(kBad);
}

TEST(HostMovement, SlicesGoBothWaysAndStopAtTheEnds) {
  const auto slice = [](const Integers& start, const Integers& end, const Integers& axes,
                        const Integers& step) {
    return OneNode("Slice")
        .input(counted({2, 5}, 0))
        .input(list(start))
        .input(list(end))
        .input(list(axes))
        .input(list(step))
        .result();
  };
  EXPECT_EQ(slice({4}, {-100}, {1}, {-2}), f32({2, 3}, {4, 2, 0, 9, 7, 5}));
  EXPECT_EQ(slice({1, 1}, {INT64_MAX, -1}, {0, 1}, {1, 2}), f32({1, 2}, {6, 8}));
  EXPECT_EQ(slice({-1}, {INT64_MIN}, {-2}, {-1}), f32({2, 5}, {5, 6, 7, 8, 9, 0, 1, 2, 3, 4}));
  EXPECT_EQ(slice({3}, {1}, {1}, {1}).shape, (Shape{2, 0}));
  EXPECT_EQ(OneNode("Slice", 9)
                .with("starts", Integers{1})
                .with("ends", Integers{3})
                .with("axes", Integers{1})
                .input(counted({2, 5}, 0))
                .result(),
            f32({2, 2}, {1, 2, 6, 7}));
  OneNode("Slice")
      .input(numbers(5))
      .input(list({0}))
      .input(list({5}))
      .input(list({0}))
      .input(list({0}))
      .error(kBad);
}

TEST(HostMovement, PadsRepeatReflectWrapAndCut) {
  const auto pad = [](const std::string& mode, const Integers& pads, int opset = 19) {
    return OneNode("Pad", opset)
        .with("mode", mode)
        .input(numbers(3))
        .input(list(pads))
        .input(f32({}, {9}))
        .result();
  };
  EXPECT_EQ(pad("constant", {1, 2}), f32({6}, {9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(pad("constant", {-1, 1}), f32({3}, {2, 3, 9}));
  EXPECT_EQ(pad("edge", {2, 1}), f32({6}, {1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad("reflect", {2, 1}), f32({6}, {3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(pad("wrap", {1, 2}), f32({6}, {3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(OneNode("Pad", 18)
                .input(counted({1, 2}))
                .input(list({1, 0}))
                .absent()
                .input(list({-1}))
                .result(),
            f32({1, 3}, {0, 1, 2}));
  EXPECT_EQ(OneNode("Pad", 10)
                .with("pads", Integers{0, 1})
                .with("value", 4.0F)
                .input(numbers(2))
                .result(),
            f32({3}, {1, 2, 4}));
}

TEST(HostMovement, ReshapeFillsInWhatItIsNotTold) {
  const auto reshaped = [](const Integers& shape) {
    return OneNode("Reshape").input(counted({2, 3, 2})).input(list(shape)).result();
  };
  EXPECT_EQ(reshaped({0, -1}), counted({2, 6}));
  EXPECT_EQ(reshaped({-1, 4}), counted({3, 4}));
  EXPECT_EQ(reshaped({3, 2, 2}), counted({3, 2, 2}));
  EXPECT_EQ(OneNode("Reshape")
                .with("allowzero", Int{1})
                .input(f32({0, 3}, {}))
                .input(list({3, 0}))
                .result(),
            f32({3, 0}, {}));
}

TEST(HostMovement, ShapesThatDoNotFitAreRefused) {
  for (const Integers& shape : {Integers{5}, Integers{-1, -1}, Integers{-1, 5}, Integers{-2, 6},
                                Integers{1, 1, 1, 0}, Integers{INT64_MAX, INT64_MAX}}) {
    OneNode("Reshape").input(counted({2, 3, 2})).input(list(shape)).error(kBad);
  }
}

TEST(HostMovement, AxesOfOneComeAndGo) {
  EXPECT_EQ(OneNode("Squeeze").input(counted({1, 2, 1})).input(list({-1})).result(),
            counted({1, 2}));
  EXPECT_EQ(OneNode("Squeeze", 11).input(counted({1, 2, 1})).result(), counted({2}));
  EXPECT_EQ(OneNode("Unsqueeze").input(numbers(2)).input(list({-1, 0})).result(),
            counted({1, 2, 1}));
  EXPECT_EQ(OneNode("Unsqueeze", 11).with("axes", Integers{1}).input(numbers(2)).result(),
            counted({2, 1}));
  EXPECT_EQ(OneNode("Flatten").with("axis", Int{2}).input(counted({2, 3, 2})).result(),
            counted({6, 2}));
  EXPECT_EQ(OneNode("Flatten").with("axis", Int{0}).input(counted({2, 3})).result(),
            counted({1, 6}));
  OneNode("Squeeze").input(counted({1, 2})).input(list({1})).error(kBad);
}

TEST(HostMovement, RepetitionsMultiplyOrBroadcast) {
  EXPECT_EQ(OneNode("Expand").input(f32({2, 1}, {1, 2})).input(list({2, 1, 3})).result(),
            f32({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(OneNode("Tile").input(f32({1, 2}, {1, 2})).input(list({2, 2})).result(),
            f32({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(HostMovement, ShapesAndRangesAreNumbers) {
  EXPECT_EQ(OneNode("Shape", 15)
                .with("start", Int{-2})
                .with("end", Int{100})
                .input(counted({2, 3, 4}))
                .result(),
            list({3, 4}));
  EXPECT_EQ(OneNode("Range").input(i32({}, {7})).input(i32({}, {0})).input(i32({}, {-3})).result(),
            i32({3}, {7, 4, 1}));
  EXPECT_EQ(OneNode("ConstantOfShape").with("value", i32({1}, {7})).input(list({2, 1})).result(),
            i32({2, 1}, {7, 7}));
  EXPECT_EQ(OneNode("ConstantOfShape").input(list({})).result(), f32({}, {0}));
  EXPECT_EQ(OneNode("Constant").with("value_ints", Integers{3, -4}).result(), list({3, -4}));
  EXPECT_EQ(OneNode("Constant").with("value", u8({1}, {9})).result(), u8({1}, {9}));
}

TEST(HostMovement, RangesWithoutAnEndAreRefused) {
  const auto range = [](Int start, Int limit, Int delta) {
    return OneNode("Range").input(i64({}, {start})).input(i64({}, {limit})).input(i64({}, {delta}));
  };
  EXPECT_EQ(range(5, 5, 1).result(), list({}));
  range(0, 3, 0).error(kBad);
  range(0, INT64_MAX, 1).error(kUnsupported);
  EXPECT_THROW(range(INT64_MIN, INT64_MAX, 1).run(), Error);
  EXPECT_THROW(range(INT64_MAX, INT64_MIN, -1).run(), Error);
}

TEST(HostMovement, DepthAndSpaceChangePlaces) {
  const auto x = counted({1, 4, 1, 2});  // channels {1, 2}, {3, 4}, {5, 6}, {7, 8}
  const auto wide = f32({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8});
  EXPECT_EQ(OneNode("DepthToSpace").with("blocksize", Int{2}).input(x).result(), wide);
  EXPECT_EQ(OneNode("SpaceToDepth").with("blocksize", Int{2}).input(wide).result(), x);
  const auto deep = counted({1, 8, 1, 1});
  EXPECT_EQ(OneNode("DepthToSpace").with("blocksize", Int{2}).input(deep).result(),
            f32({1, 2, 2, 2}, {1, 3, 5, 7, 2, 4, 6, 8}));
  EXPECT_EQ(OneNode("DepthToSpace")
                .with("blocksize", Int{2})
                .with("mode", std::string("CRD"))
                .input(deep)
                .result(),
            counted({1, 2, 2, 2}));
}

TEST(HostMovement, RowsTurnTrianglesAndCrops) {
  EXPECT_EQ(OneNode("Trilu").with("upper", Int{0}).input(counted({2, 3})).result(),
            f32({2, 3}, {1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(OneNode("Trilu").input(counted({2, 3})).input(i64({}, {1})).result(),
            f32({2, 3}, {0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(OneNode("ReverseSequence")
                .with("time_axis", Int{1})
                .with("batch_axis", Int{0})
                .input(counted({2, 3}))
                .input(list({2, 3}))
                .result(),
            f32({2, 3}, {2, 1, 3, 6, 5, 4}));
  EXPECT_EQ(OneNode("CenterCropPad", 18).input(counted({2, 3})).input(list({4, 1})).result(),
            f32({4, 1}, {0, 2, 5, 0}));
}

TEST(HostMovement, EinsumSumsTheLettersThatAreGone) {
  const auto sum = [](const std::string& equation, Tensor a, Tensor b) {
    return OneNode("Einsum")
        .with("equation", equation)
        .input(std::move(a))
        .input(std::move(b))
        .result();
  };
  EXPECT_EQ(sum("ij,jk->ik", counted({2, 2}), counted({2, 2}, 5)), f32({2, 2}, {19, 22, 43, 50}));
  EXPECT_EQ(sum("ij,kj->ki", counted({2, 2}), counted({1, 2}, 5)), f32({1, 2}, {17, 39}));
  EXPECT_EQ(OneNode("Einsum").with("equation", std::string("ii")).input(counted({2, 2})).result(),
            f32({}, {5}));
}

}  // namespace
}  // namespace qsim::golden
