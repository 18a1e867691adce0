// If, Loop and Scan: which graph runs, how often, and what is known of the outputs before.
#include <gtest/gtest.h>

#include "tests/golden/host/host_network_builder.h"
#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

HostBody body_of(HostNetworkBuilder built, std::vector<std::size_t> captured = {}) {
  return {std::make_shared<const HostNetwork>(std::move(built.network)), std::move(captured)};
}

// A graph without inputs of its own that adds `number` to what it captures, input 1 of the node.
HostBody adding(float number) {
  HostNetworkBuilder built;
  const HostValueId x = built.input(DType::kFloat32);
  built.output(built.add("Add", {x, built.constant(f32({}, {number}))}));
  return body_of(std::move(built), {1});
}

HostBody constant(Tensor tensor) {
  HostNetworkBuilder built;
  built.output(built.constant(std::move(tensor)));
  return body_of(std::move(built));
}

OneNode branch() {
  return OneNode("If").with("then_branch", adding(10)).with("else_branch", adding(20));
}

TEST(HostIf, RunsTheBranchOfItsCondition) {
  EXPECT_EQ(branch().input(bools({}, {1})).input(f32({2}, {1, 2})).result(), f32({2}, {11, 12}));
  EXPECT_EQ(branch().input(bools({}, {0})).input(f32({2}, {1, 2})).result(), f32({2}, {21, 22}));
}

TEST(HostIf, OfAnOpenConditionKnowsWhatBothBranchesHave) {
  const auto known = [](const OneNode& node) { return known_of(node.run()[0]); };
  EXPECT_EQ(known(branch().shaped(DType::kBool, {}).shaped(DType::kFloat32, {4})), "float32 [4]");
  EXPECT_EQ(known(branch().input(bools({}, {1})).shaped(DType::kFloat32, {5})), "float32 [5]");
  EXPECT_EQ(known(branch().shaped(DType::kBool, {}).unknown()), "unknown");
  OneNode apart("If");
  apart.with("then_branch", constant(f32({2}, {1, 2})))
      .with("else_branch", constant(f32({1}, {1})));
  EXPECT_EQ(known(apart.shaped(DType::kBool, {})), "unknown");
}

TEST(HostIf, NeedsTwoGraphsThatFit) {
  EXPECT_NE(OneNode("If").input(bools({}, {1})).error(kBad).find("no attribute else_branch"),
            std::string::npos);
  const std::string error =
      branch().outputs(2).input(bools({}, {1})).input(f32({}, {1})).error(kBad);
  EXPECT_NE(error.find("a graph of 0 inputs and 1 outputs; expected 0 and 2"), std::string::npos)
      << error;
}

// Carries a number and doubles it while it is below 100; keeps each one.
OneNode doubling() {
  HostNetworkBuilder built;
  built.input(DType::kInt64);
  built.input(DType::kBool);
  const HostValueId x = built.input(DType::kFloat32);
  const HostValueId twice = built.add("Add", {x, x});
  built.output(built.add("Less", {twice, built.constant(f32({}, {100}))}));
  built.output(twice);
  built.output(twice);
  return OneNode("Loop").with("body", body_of(std::move(built))).outputs(2);
}

TEST(HostLoop, EndsByItsCountOrItsCondition) {
  EXPECT_EQ(doubling().input(i64({}, {3})).absent().input(f32({}, {1})).results(),
            (std::vector<Tensor>{f32({}, {8}), f32({3}, {2, 4, 8})}));
  EXPECT_EQ(doubling().absent().input(bools({}, {1})).input(f32({}, {30})).results(),
            (std::vector<Tensor>{f32({}, {120}), f32({2}, {60, 120})}));
  EXPECT_EQ(doubling().input(i64({}, {3})).input(bools({}, {0})).input(f32({}, {1})).results(),
            (std::vector<Tensor>{f32({}, {1}), f32({0}, {})}));
}

TEST(HostLoop, NeedsAnEnd) {
  const OneNode endless = doubling().absent().absent().input(f32({}, {1}));
  EXPECT_NE(endless.error(kUnsupported).find("neither a number of iterations nor a condition"),
            std::string::npos);
}

TEST(HostLoop, KnowsBeforeARunWhatNoIterationChanges) {
  const auto known = [](const std::vector<HostArray>& found) {
    return known_of(found[0]) + ", " + known_of(found[1]);
  };
  EXPECT_EQ(known(doubling().input(i64({}, {3})).absent().shaped(DType::kFloat32, {}).run()),
            "float32 [], unknown");
  HostNetworkBuilder built;
  built.input(DType::kInt64);
  const HostValueId on = built.input(DType::kBool);
  const HostValueId x = built.input(DType::kFloat32);
  built.output(built.constant(bools({}, {1})));
  static_cast<void>(on);
  built.output(built.add("Neg", {x}));
  built.output(built.add("Neg", {x}));
  OneNode steady = OneNode("Loop").with("body", body_of(built)).outputs(2);
  EXPECT_EQ(known(steady.input(i64({}, {3})).absent().shaped(DType::kFloat32, {2}).run()),
            "float32 [2], float32 [3, 2]");
}

TEST(HostScan, TakesAndMakesSlicesInAnyDirection) {
  HostNetworkBuilder built;
  const HostValueId sum = built.input(DType::kFloat32);
  const HostValueId x = built.input(DType::kFloat32);
  const HostValueId next = built.add("Add", {sum, x});
  built.output(next);
  built.output(next);
  const auto scan = [&] {
    return OneNode("Scan").with("body", body_of(built)).with("num_scan_inputs", Int{1}).outputs(2);
  };
  EXPECT_EQ(scan().input(f32({}, {0})).input(f32({3}, {1, 2, 3})).results(),
            (std::vector<Tensor>{f32({}, {6}), f32({3}, {1, 3, 6})}));
  EXPECT_EQ(scan()
                .with("scan_input_directions", Integers{1})
                .with("scan_output_directions", Integers{1})
                .input(f32({}, {0}))
                .input(f32({3}, {1, 2, 3}))
                .results(),
            (std::vector<Tensor>{f32({}, {6}), f32({3}, {6, 5, 3})}));
  EXPECT_EQ(scan()
                .with("scan_input_axes", Integers{1})
                .with("scan_output_axes", Integers{-1})
                .input(f32({2}, {0, 0}))
                .input(f32({2, 3}, {1, 2, 3, 4, 5, 6}))
                .results()[1],
            f32({2, 3}, {1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(known_of(scan().shaped(DType::kFloat32, {2}).shaped(DType::kFloat32, {5, 2}).run()[1]),
            "float32 [5, 2]");
}

}  // namespace
}  // namespace qsim::golden
