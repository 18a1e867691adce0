// What an operator sees of its node, and what becomes of nodes that say too little or too much.
#include "golden/host/host_call.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/base/limits.h"
#include "tests/compiler/refusal.h"
#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

std::string call_error(const std::function<void()>& action) {
  return testing::refusal(action, kBad);
}

TEST(HostCall, OfInputsOfUnknownShapeNothingIsKnown) {
  const auto found = OneNode("Add").input(f32({2}, {1, 2})).unknown().run();
  EXPECT_EQ(known_of(found.at(0)), "unknown");
}

TEST(HostCall, WithoutValuesTheOutputHasItsShapeAndNoBytes) {
  const auto found = OneNode("Mul").shaped(DType::kInt32, {2, 1}).input(i32({3}, {1, 2, 3})).run();
  EXPECT_EQ(known_of(found.at(0)), "int32 [2, 3]");
  EXPECT_TRUE(found.at(0).tensor.bytes.empty());
}

TEST(HostCall, ShapeAndSizeAreKnownOfAnInputThatIsNot) {
  EXPECT_EQ(OneNode("Shape").shaped(DType::kFloat32, {4, 5, 6}).result(), list({4, 5, 6}));
  EXPECT_EQ(OneNode("Size").shaped(DType::kFloat32, {4, 5, 6}).result(), i64({}, {120}));
}

TEST(HostCall, AShapeThatDependsOnUnknownValuesStaysUnknown) {
  EXPECT_EQ(known_of(OneNode("Reshape").input(counted({6})).shaped(DType::kInt64, {2}).run().at(0)),
            "unknown");
  EXPECT_EQ(known_of(OneNode("NonZero").shaped(DType::kFloat32, {2, 2}).run().at(0)), "unknown");
  EXPECT_EQ(known_of(OneNode("ReduceSum")
                         .shaped(DType::kFloat32, {2, 3})
                         .shaped(DType::kInt64, {1})
                         .run()
                         .at(0)),
            "unknown");
}

TEST(HostCall, AnAttributeOfAnotherTypeIsRefused) {
  const auto x = f32({2}, {1, 2});
  EXPECT_EQ(OneNode("LeakyRelu").with("alpha", std::int64_t{1}).input(x).error(kBad),
            "test.onnx: node 'one' (LeakyRelu): attribute 'alpha' is of another type; expected the "
            "operator's type");
  for (const OneNode& node : {OneNode("Softmax").with("axis", 1.0F).input(x),
                              OneNode("Transpose").with("perm", std::vector<float>{0}).input(x),
                              OneNode("Gelu", 20).with("approximate", std::int64_t{1}).input(x),
                              OneNode("ConstantOfShape").with("value", 1.0F).input(list({2}))}) {
    EXPECT_NE(node.error(kBad).find("is of another type"), std::string::npos) << node.node().op;
  }
}

TEST(HostCall, AnInputThatIsAbsentAndNeededIsRefused) {
  const auto x = f32({2}, {1, 2});
  const std::string words =
      "test.onnx: node 'one' (Add): input 1 is absent; expected it to be there";
  EXPECT_EQ(OneNode("Add").input(x).absent().error(kBad), words);
  EXPECT_EQ(OneNode("Add").input(x).error(kBad), words);
  EXPECT_EQ(OneNode("Add").shaped(DType::kFloat32, {2}).error(kBad), words);
}

TEST(HostCall, MoreOutputsThanTheOperatorHasAreRefused) {
  const std::string words =
      "test.onnx: node 'one' (Relu): output 1; expected no more outputs than the operator has";
  EXPECT_EQ(OneNode("Relu").input(f32({1}, {1})).outputs(2).error(kBad), words);
  EXPECT_EQ(OneNode("Relu").shaped(DType::kFloat32, {1}).outputs(2).error(kBad), words);
  EXPECT_EQ(OneNode("Relu").input(f32({1}, {3})).outputs(2).without_output(1).run().at(0).tensor,
            f32({1}, {3}));
}

TEST(HostCall, OutputsThatAreLeftOutAreNotWritten) {
  const auto found = OneNode("TopK")
                         .input(f32({3}, {5, 7, 6}))
                         .input(list({1}))
                         .outputs(2)
                         .without_output(0)
                         .run();
  EXPECT_EQ(known_of(found.at(0)), "unknown");
  EXPECT_EQ(found.at(1).tensor, list({1}));
}

TEST(HostCall, ATensorOfTooManyElementsIsRefusedBeforeItIsMade) {
  constexpr std::int64_t kSide = 1 << 16;  // squared: twice the most
  EXPECT_EQ(OneNode("Add")
                .shaped(DType::kFloat32, {kSide, 1})
                .shaped(DType::kFloat32, {kSide})
                .error(kUnsupported),
            "test.onnx: node 'one' (Add): writes a tensor of 4294967296 elements; supported: at "
            "most 2147483648");
  EXPECT_EQ(known_of(OneNode("Add")
                         .shaped(DType::kFloat32, {kSide, 1})
                         .shaped(DType::kFloat32, {kSide / 2})
                         .run()
                         .at(0)),
            "float32 [65536, 32768]");
  for (const OneNode& node :
       {OneNode("Expand").shaped(DType::kFloat32, {1}).input(list({kMaxTensorElems, 2})),
        OneNode("Tile").shaped(DType::kFloat32, {2}).input(list({kMaxTensorElems})),
        OneNode("Pad").shaped(DType::kFloat32, {2}).input(list({0, kMaxTensorElems})),
        OneNode("Resize")
            .shaped(DType::kFloat32, {2, 2})
            .absent()
            .absent()
            .input(list({kSide, kSide}))}) {
    EXPECT_NE(node.error(kUnsupported).find(": writes a tensor of "), std::string::npos)
        << node.node().op;
  }
}

TEST(HostCall, SizesThatOverflowAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const OneNode& node : {OneNode("ConstantOfShape").input(list({kHuge, 4})),
                              OneNode("Expand").input(f32({1}, {1})).input(list({kHuge, kHuge})),
                              OneNode("Tile").input(f32({4}, {1, 2, 3, 4})).input(list({kHuge}))}) {
    EXPECT_TRUE(node.error(kBad).starts_with("test.onnx: node 'one' (")) << node.node().op;
  }
}

TEST(HostCall, AnUnknownOperatorIsRefusedByItsNameAndDomain) {
  const std::string supported = "; supported: those of docs/reference/host.md";
  EXPECT_EQ(OneNode("Fold").error(kUnsupported),
            "test.onnx: node 'one' (Fold): operator Fold" + supported);
  EXPECT_EQ(OneNode("Add", 1, "com.example").error(kUnsupported),
            "test.onnx: node 'one' (Add): operator com.example.Add" + supported);
  EXPECT_EQ(OneNode("QGemm").error(kUnsupported),
            "test.onnx: node 'one' (QGemm): operator QGemm" + supported);
}

TEST(HostCall, NumbersAreReadFromAnyType) {
  const OneNode node = OneNode("Any")
                           .input(f32({2}, {3, -4}))
                           .input(u8({2}, {200, 7}))
                           .input(f64({1}, {0.5}))
                           .shaped(DType::kInt64, {1});
  const HostCall call(node.node(), node.inputs());
  EXPECT_EQ(call.integers(0), (Integers{3, -4}));
  EXPECT_EQ(call.integers(1), (Integers{200, 7}));
  EXPECT_EQ(call.reals(1), (std::vector<double>{200, 7}));
  EXPECT_EQ(call.real(2), 0.5);
  EXPECT_THROW(call.integers(3), HostUnknown);
  EXPECT_THROW(call.reals(3), HostUnknown);
  EXPECT_FALSE(call.computes());
  EXPECT_TRUE(call.knows(2));
  EXPECT_FALSE(call.knows(3));
  EXPECT_FALSE(call.has(4));
  EXPECT_NE(call_error([&] { call.integer(0); }).find("has 2 numbers; expected one"),
            std::string::npos);
  EXPECT_NE(call_error([&] { call.real(1); }).find("has 2 numbers"), std::string::npos);
}

TEST(HostCall, RealNumbersThatAreNoIntegersAreRefused) {
  for (const float value : {1.5F, 9.3e18F, -9.3e18F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    const OneNode node = OneNode("Any").input(f32({1}, {value}));
    const HostCall call(node.node(), node.inputs());
    EXPECT_NE(call_error([&] { call.integers(0); }).find("is not of integers"), std::string::npos)
        << value;
  }
}

TEST(HostCall, AnAxisCountsFromEitherEnd) {
  const OneNode node("Any");
  const HostCall call(node.node(), {});
  EXPECT_EQ(call.axis(-3, 3), 0U);
  EXPECT_EQ(call.axis(2, 3), 2U);
  EXPECT_EQ(call.axis(3, 3, true), 3U);
  EXPECT_EQ(call.axis(-1, 3, true), 3U);
  EXPECT_EQ(call_error([&] { call.axis(3, 3); }),
            "test.onnx: node 'one' (Any): axis 3 of 3 axes; expected -3 to 2");
  for (const std::int64_t axis : {std::int64_t{-4}, INT64_MIN, INT64_MAX}) {
    call_error([&] { call.axis(axis, 3); });
  }
  call_error([&] { call.axis(0, 0); });
}

TEST(HostCall, ShapesBroadcastAsInNumPy) {
  const OneNode node("Any");
  const HostCall call(node.node(), {});
  EXPECT_EQ(broadcast(call, {2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast(call, {}, {2}), (Shape{2}));
  EXPECT_EQ(broadcast(call, {1, 0}, {3, 1}), (Shape{3, 0}));
  EXPECT_EQ(call_error([&] {
              broadcast(call, {2, 3}, {2});
            }),
            "test.onnx: node 'one' (Any): shapes [2, 3] and [2]; expected two that broadcast to "
            "one");
}

TEST(HostCall, PositionsAreVisitedRowByRow) {
  const Shape shape = {2, 3};
  std::vector<std::array<std::int64_t, 2>> seen;
  for_each_position<2>(shape, {broadcast_steps({3}, shape), broadcast_steps({2, 1}, shape)},
                       [&](std::int64_t i, const std::array<std::int64_t, 2>& at) {
                         EXPECT_EQ(i, static_cast<std::int64_t>(seen.size()));
                         seen.push_back(at);
                       });
  EXPECT_EQ(seen, (std::vector<std::array<std::int64_t, 2>>{
                      {0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}));
  for_each_position<1>({2, 0}, {row_major_steps({2, 0})},
                       [](std::int64_t, const auto&) { FAIL() << "an empty tensor"; });
}

}  // namespace
}  // namespace qsim::golden
