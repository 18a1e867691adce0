// Which tensors are quantized, and which together.
#include "quantize/hosted/host_plan.h"

#include <gtest/gtest.h>

#include "tests/quantize/hosted/float_network.h"

namespace qsim::quantize {
namespace {

class Planned {
 public:
  Planned(FloatNetwork& net, const std::vector<HostValueId>& outputs)
      : network_(net.folded(outputs)), plan_(plan_quantization(network_)) {}

  const HostPlan& plan() const { return plan_; }
  bool is_quantized(HostValueId id) const { return plan_.group_of[id].has_value(); }
  bool are_linked(HostValueId a, HostValueId b) const {
    return is_quantized(a) && plan_.group_of[a] == plan_.group_of[b];
  }

 private:
  HostNetwork network_;
  HostPlan plan_;
};

TEST(HostPlan, AReluBelongsToTheConvolutionBeforeIt) {
  FloatNetwork net;
  const HostValueId x = net.picture();
  const HostValueId sums = net.conv(x, 3, 4);
  const HostValueId y = net.add("Relu", {sums});
  const Planned planned(net, {net.conv(y, 4, 4)});
  EXPECT_TRUE(planned.is_quantized(x));
  EXPECT_FALSE(planned.is_quantized(sums));
  EXPECT_TRUE(planned.is_quantized(y));
  EXPECT_EQ(planned.plan().products[0].output, y);
}

TEST(HostPlan, AReluOfSumsThatOthersReadDoesNot) {
  FloatNetwork net;
  const HostValueId sums = net.conv(net.picture(), 3, 4);
  const HostValueId y = net.add("Relu", {sums});
  const Planned planned(net, {net.conv(y, 4, 4), sums});
  EXPECT_TRUE(planned.is_quantized(sums));
}

TEST(HostPlan, AFunctionOfOneTensorIsFloatInside) {
  FloatNetwork net;
  const HostValueId x = net.conv(net.picture(), 3, 4);
  const HostValueId gate = net.add("Sigmoid", {x});
  const HostValueId y = net.add("Mul", {x, gate});
  const Planned planned(net, {net.conv(y, 4, 4)});
  EXPECT_TRUE(planned.is_quantized(x));
  EXPECT_FALSE(planned.is_quantized(gate));
  EXPECT_TRUE(planned.is_quantized(y));
}

TEST(HostPlan, AProductOfTwoTensorsReadsLevels) {
  FloatNetwork net;
  const HostValueId x = net.conv(net.picture(), 3, 4);
  const HostValueId gate = net.add("Sigmoid", {net.conv(x, 4, 4, 1)});
  const HostValueId y = net.add("Mul", {x, gate});
  const Planned planned(net, {y});
  EXPECT_TRUE(planned.is_quantized(gate));
  EXPECT_TRUE(planned.is_quantized(y));
}

TEST(HostPlan, WhatMovesNumbersHasOneQuantization) {
  FloatNetwork net;
  const HostValueId x = net.conv(net.picture(), 3, 4);
  const HostValueId small = net.add("MaxPool", {x}, {{"kernel_shape", Integers{2, 2}}});
  const HostValueId flat = net.add("Flatten", {small});
  const HostValueId y = net.add("MatMul", {flat, net.weights({100, 5})});
  const Planned planned(net, {y});
  EXPECT_TRUE(planned.are_linked(x, small));
  EXPECT_TRUE(planned.are_linked(x, flat));
  EXPECT_FALSE(planned.are_linked(x, y));
  // Its statistics are those of the convolution.
  EXPECT_EQ(planned.plan().groups[*planned.plan().group_of[x]].roots, std::vector{x});
}

TEST(HostPlan, AConcatLinksItsOperandsButNotTheNetworksInput) {
  FloatNetwork net;
  const HostValueId x = net.picture();
  const HostValueId a = net.conv(x, 3, 4);
  const HostValueId b = net.conv(x, 3, 2);
  const HostValueId joined = net.add("Concat", {a, b, x}, {{"axis", Int{1}}});
  const Planned planned(net, {net.conv(joined, 9, 4)});
  EXPECT_TRUE(planned.are_linked(a, joined));
  EXPECT_TRUE(planned.are_linked(b, joined));
  EXPECT_FALSE(planned.are_linked(x, joined));
  // The input's numbers are its own, and the group has them by the Concat.
  EXPECT_EQ(planned.plan().groups[*planned.plan().group_of[a]].roots, (std::vector{a, b, joined}));
}

TEST(HostPlan, SoftmaxAndNormalizationsReadAndWriteFloatUnlessAProductReadsThem) {
  FloatNetwork net;
  const HostValueId x = net.picture({1, 4, 8});
  const HostValueId norm = net.add("LayerNormalization", {x, net.constant(net.reals({8}, 0.1, 1))});
  const HostValueId chances = net.add("Softmax", {norm});
  const HostValueId y = net.add("MatMul", {chances, net.weights({8, 5})});
  const Planned planned(net, {y});
  EXPECT_FALSE(planned.is_quantized(x));
  EXPECT_FALSE(planned.is_quantized(norm));
  EXPECT_TRUE(planned.is_quantized(chances));
}

TEST(HostPlan, ThePiecesOfANormalizationAreFloat) {
  FloatNetwork net;
  const HostValueId x = net.picture({1, 4, 8});
  const auto mean = [&](HostValueId of) {
    return net.add("ReduceMean", {of}, {{"axes", Integers{-1}}});
  };
  const HostValueId centred = net.add("Sub", {x, mean(x)});
  const HostValueId variance = mean(net.add("Mul", {centred, centred}));
  const HostValueId size =
      net.add("Sqrt", {net.add("Add", {variance, net.constant(f32({}, {1e-5F}))})});
  const HostValueId unit = net.add("Mul", {centred, net.add("Reciprocal", {size})});
  const HostValueId y = net.add("MatMul", {unit, net.weights({8, 5})});
  const Planned planned(net, {y});
  for (const HostValueId id : {x, centred, variance, size})
    EXPECT_FALSE(planned.is_quantized(id)) << id;
  EXPECT_TRUE(planned.is_quantized(unit));
  EXPECT_TRUE(planned.is_quantized(y));
}

TEST(HostPlan, AMeanOfThePictureIsAPoolUnlessItIsSubtracted) {
  FloatNetwork net;
  const HostValueId x = net.picture();
  const HostValueId mean = net.add("ReduceMean", {x}, {{"axes", Integers{2, 3}}});
  EXPECT_TRUE(Planned(net, {mean}).is_quantized(mean));
  FloatNetwork other;
  const HostValueId read = other.picture();
  const HostValueId own = other.add("ReduceMean", {read}, {{"axes", Integers{2, 3}}});
  const Planned planned(other, {other.add("Sub", {read, own})});
  EXPECT_FALSE(planned.is_quantized(own));
  EXPECT_FALSE(planned.is_quantized(read));
}

TEST(HostPlan, ABiasAfterAMatMulOfAStackBelongsToIt) {
  FloatNetwork net;
  const HostValueId sums = net.add("MatMul", {net.picture({1, 4, 8}), net.weights({8, 5})});
  const HostValueId y = net.add("Add", {sums, net.constant(net.reals({5}))});
  const HostValueId clipped = net.add("Relu", {y});
  const Planned planned(net, {clipped});
  EXPECT_FALSE(planned.is_quantized(sums));
  EXPECT_FALSE(planned.is_quantized(y));
  EXPECT_TRUE(planned.is_quantized(clipped));
}

TEST(HostPlan, OnlyAPadOfZerosMovesNumbers) {
  for (const float fill : {0.0F, -1.0F}) {
    FloatNetwork net;
    const HostValueId x = net.conv(net.picture(), 3, 4);
    const HostValueId padded = net.add(
        "Pad", {x, net.constant(list({0, 0, 1, 1, 0, 0, 1, 1})), net.constant(f32({}, {fill}))});
    const Planned planned(net, {net.conv(padded, 4, 4)});
    EXPECT_EQ(planned.are_linked(x, padded), fill == 0) << fill;
  }
}

TEST(HostPlan, ANetworkOfFunctionsAloneHasNothingToQuantize) {
  FloatNetwork net;
  const HostValueId y = net.add("Softmax", {net.add("Relu", {net.picture()})});
  EXPECT_TRUE(Planned(net, {y}).plan().groups.empty());
}

}  // namespace
}  // namespace qsim::quantize
