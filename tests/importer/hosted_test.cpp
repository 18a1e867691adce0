// Which nodes the array runs, in which parts, and what runs after what: networks made by hand, and
// no file.
#include <algorithm>

#include <gtest/gtest.h>

#include "formats/onnx/importer/hosted_parts.h"
#include "tests/golden/host/host_network_builder.h"

namespace qsim {

using namespace formats;
namespace {

constexpr DType kLevels = DType::kUint8;
constexpr DType kFloat32 = DType::kFloat32;

// Nodes that make levels of levels are units of their own here.
class HostedParts : public ::testing::Test {
 protected:
  HostedParts() : x_(built_.input(kLevels, {1, 4})) {}

  HostValueId levels(const std::string& op, std::vector<HostValueId> inputs) {
    return built_.add_of(kLevels, op, std::move(inputs));
  }
  HostValueId numbers(const std::string& op, std::vector<HostValueId> inputs) {
    return built_.add_of(kFloat32, op, std::move(inputs));
  }
  void find_units() { units_ = levels_units(built_.network); }
  // Finds the units and gives those that write these values to the host.
  void leave_to_host(const std::vector<HostValueId>& values) {
    find_units();
    for (const HostValueId value : values) unit(value).reason = "the test says so";
  }
  LevelsUnit& unit(HostValueId output) {
    const auto found = std::ranges::find(units_, output, &LevelsUnit::output);
    EXPECT_NE(found, units_.end());
    return *found;
  }

  using Part = std::vector<HostValueId>;  // what it reads, then what each of its units writes
  std::vector<Part> parts() {
    std::vector<Part> parts;
    for (const PartPlan& plan : plan_parts(built_.network, units_)) {
      Part part = {plan.input};
      for (const std::size_t u : plan.units) part.push_back(units_[u].output);
      EXPECT_EQ(plan.output, part.back());
      parts.push_back(part);
    }
    return parts;
  }

  HostNetworkBuilder built_;
  HostValueId x_;
  std::vector<LevelsUnit> units_;
};

TEST_F(HostedParts, AUnitIsAllBetweenLevels) {
  const HostValueId weights = built_.constant(Tensor(kFloat32, {4}));
  const HostValueId real = numbers("DequantizeLinear", {x_});
  const HostValueId product = numbers("Mul", {real, weights});
  const HostValueId a = levels("QuantizeLinear", {product, weights, kAbsentValue});
  const HostValueId b = levels("QLinearAdd", {a, x_, a});
  built_.output(b);
  find_units();
  ASSERT_EQ(units_.size(), 2U);
  EXPECT_EQ(units_[0].output, a);
  EXPECT_EQ(units_[0].sources, (std::vector<HostValueId>{x_}));
  EXPECT_EQ(units_[0].nodes, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(units_[0].reason, "");
  EXPECT_EQ(units_[1].output, b);
  EXPECT_EQ(units_[1].sources, (std::vector<HostValueId>{a, x_}));
  EXPECT_EQ(units_[1].nodes, (std::vector<std::size_t>{3}));
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a, b}}));
}

TEST_F(HostedParts, AUnitThatReadsFloatNumbersIsTheHosts) {
  const HostValueId image = built_.input(kFloat32, {1, 4});
  const HostValueId a = levels("QuantizeLinear", {image});
  const HostValueId b = levels("QLinearAdd", {a, x_});
  built_.output(levels("QLinearSigmoid", {a}));
  find_units();
  EXPECT_EQ(unit(a).reason,
            "it reads '" + built_.network.values[image].name + "', which is not 8-bit numbers");
  EXPECT_EQ(unit(b).reason, "");
}

TEST_F(HostedParts, AUnitOfConstantsAloneIsTheHosts) {
  const HostValueId a = levels("RandomUniform", {});
  find_units();
  EXPECT_EQ(unit(a).reason, "it reads no 8-bit numbers");
}

TEST_F(HostedParts, AChainIsOnePart) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  const HostValueId c = levels("C", {b});
  built_.output(c);
  find_units();
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a, b, c}}));
}

TEST_F(HostedParts, BranchesThatMeetAgainAreOnePart) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  const HostValueId c = levels("C", {a});
  const HostValueId sum = levels("Add", {b, c});
  const HostValueId again = levels("Add", {x_, sum});
  built_.output(again);
  find_units();
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a, b, c, sum, again}}));
}

TEST_F(HostedParts, AHostNodeBetweenMakesTwo) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  const HostValueId c = levels("C", {b});
  const HostValueId d = levels("D", {c});
  built_.output(d);
  leave_to_host({b});
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a}, {b, c, d}}));
}

TEST_F(HostedParts, AValueThatTheHostReadsEndsItsPart) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  built_.output(b);
  built_.output(numbers("DequantizeLinear", {a}));
  find_units();
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a}, {a, b}}));
}

// The DequantizeLinear is the array's for the unit that it belongs to, and the host's for an
// output.
TEST_F(HostedParts, FloatNumbersThatAlsoLeaveDoNotEndThePartThatReadsTheirLevels) {
  const HostValueId a = levels("A", {x_});
  const HostValueId real = numbers("DequantizeLinear", {a});
  const HostValueId b = levels("QuantizeLinear", {real});
  const HostValueId c = levels("QuantizeLinear", {numbers("Softmax", {real})});
  built_.output(b);
  built_.output(c);
  leave_to_host({c});
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a}, {a, b}}));
}

TEST_F(HostedParts, EachOutputEndsAPart) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  built_.output(a);
  built_.output(b);
  find_units();
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a}, {a, b}}));
}

TEST_F(HostedParts, AnInnerValueThatAnotherPartReadsEndsItsPart) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  const HostValueId c = levels("C", {a});
  built_.output(b);
  built_.output(c);
  find_units();
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a}, {a, b}, {a, c}}));
}

TEST_F(HostedParts, ASkipAcrossAHostNodeMakesTheSumTheHosts) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  const HostValueId c = levels("C", {b});
  const HostValueId sum = levels("Add", {a, c});
  const HostValueId last = levels("D", {sum});
  built_.output(last);
  leave_to_host({b});
  EXPECT_EQ(parts(), (std::vector<Part>{{x_, a}, {b, c}, {sum, last}}));
  EXPECT_EQ(unit(sum).reason, "it reads several tensors, which no one part of the array has");
  EXPECT_EQ(unit(c).reason, "");
}

class HostedSteps : public HostedParts {
 protected:
  // "part 0", or the node and why the host runs it.
  std::vector<std::string> steps() {
    HostedNetwork hosted;
    hosted.network = built_.network;
    for (const PartPlan& plan : plan_parts(built_.network, units_)) {
      ArrayPart part;
      part.input = plan.input;
      part.output = plan.output;
      hosted.parts.push_back(std::move(part));
    }
    add_steps(hosted, units_);
    std::vector<std::string> texts;
    for (const HostedNetwork::Step& step : hosted.steps) {
      if (step.is_array) {
        texts.push_back("part " + std::to_string(step.index));
      } else {
        const HostStep& host = hosted.host_steps.at(step.index);
        texts.push_back(hosted.network.nodes.at(host.node).op + ": " + host.reason);
      }
    }
    return texts;
  }
};

TEST_F(HostedSteps, PartsAndNodesRunInTheOrderOfWhatTheyRead) {
  const HostValueId a = levels("A", {x_});
  const HostValueId b = levels("B", {a});
  const HostValueId c = levels("C", {b});
  built_.output(numbers("DequantizeLinear", {c}));
  leave_to_host({b});
  EXPECT_EQ(steps(), (std::vector<std::string>{"part 0", "B: the test says so", "part 1",
                                               "DequantizeLinear: its numbers are not 8-bit"}));
}

TEST_F(HostedSteps, OnlyWhatTheOutputsDependOnRuns) {
  const HostValueId a = levels("A", {x_});
  levels("Dead", {x_});
  numbers("DeadToo", {a});
  const HostValueId folded = built_.add("Folded", {});
  built_.network.values[folded].array = {HostArray::Known::kValues, Tensor(kFloat32, {1})};
  built_.output(numbers("Mul", {a, folded}));
  find_units();
  EXPECT_EQ(steps(), (std::vector<std::string>{"part 0", "Mul: its numbers are not 8-bit"}));
}

TEST_F(HostedSteps, TheNodesOfAPartDoNotRunOnTheHostUnlessItsNumbersLeave) {
  const HostValueId real = numbers("DequantizeLinear", {x_});
  const HostValueId a = levels("QuantizeLinear", {numbers("Relu", {real})});
  built_.output(a);
  find_units();
  EXPECT_EQ(steps(), (std::vector<std::string>{"part 0"}));
  built_.output(real);
  EXPECT_EQ(steps(),
            (std::vector<std::string>{"DequantizeLinear: its numbers are not 8-bit", "part 0"}));
}

}  // namespace
}  // namespace qsim
