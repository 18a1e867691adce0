// What is folded into weights, and what goes, while outputs and their names stay.
#include "quantize/hosted/host_folding.h"

#include <gtest/gtest.h>

#include "quantize/hosted/product_weights.h"
#include "tests/quantize/hosted/float_network.h"

namespace qsim::quantize {
namespace {

using Operators = std::vector<std::string>;

// The folded network gives what the network gave, to the rounding of float32, under the same names.
HostNetwork expect_same_outputs(FloatNetwork& net, const std::vector<HostValueId>& outputs) {
  HostNetwork folded = net.folded(outputs);
  const std::vector<Tensor> inputs = net.sample(net.network);
  const std::vector<Tensor> expected = golden::run_host_network(net.network, inputs);
  const std::vector<Tensor> found = golden::run_host_network(folded, inputs);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    EXPECT_EQ(folded.values[folded.outputs[o]].name,
              net.network.values[net.network.outputs[o]].name);
    EXPECT_EQ(found[o].shape, expected[o].shape);
    double largest = 0;
    for (std::size_t i = 0; i < expected[o].as<float>().size(); ++i) {
      const float real = expected[o].as<float>()[i];
      largest = std::max(largest, static_cast<double>(std::abs(real)));
      EXPECT_NEAR(found[o].as<float>()[i], real, 1e-4) << "output " << o << ", element " << i;
    }
    EXPECT_GT(largest, 0.1);
  }
  return folded;
}

TEST(HostFolding, ABatchNormGoesIntoTheConvolutionBeforeIt) {
  FloatNetwork net;
  const HostNetwork folded = expect_same_outputs(net, {net.norm(net.conv(net.picture(), 3, 4), 4)});
  EXPECT_EQ(operators_of(folded), Operators{"Conv"});
}

TEST(HostFolding, ABatchNormGoesIntoATransposedConvolutionByItsChannels) {
  FloatNetwork net;
  const HostValueId up =
      net.add("ConvTranspose", {net.picture({1, 4, 3, 3}), net.weights({4, 3, 2, 2})},
              {{"group", Int{2}}, {"strides", Integers{2, 2}}});
  const HostNetwork folded = expect_same_outputs(net, {net.norm(up, 6)});
  EXPECT_EQ(operators_of(folded), Operators{"ConvTranspose"});
}

TEST(HostFolding, FactorsAndSumsOfChannelsGoIntoWeightsAndBias) {
  FloatNetwork net;
  HostValueId x = net.conv(net.picture(), 3, 4);
  x = net.add("Mul", {net.constant(net.reals({4, 1, 1})), x});
  x = net.add("Sub", {x, net.constant(net.reals({1, 4, 1, 1}))});
  x = net.add("Div", {x, net.constant(f32({}, {0.25F}))});
  EXPECT_EQ(operators_of(expect_same_outputs(net, {x})), Operators{"Conv"});
}

TEST(HostFolding, AFactorOfEachPixelStays) {
  FloatNetwork net;
  const HostValueId x =
      net.add("Mul", {net.conv(net.picture(), 3, 4), net.constant(net.reals({6, 6}))});
  EXPECT_EQ(operators_of(expect_same_outputs(net, {x})), (Operators{"Conv", "Mul"}));
}

TEST(HostFolding, WhatAnotherNodeReadsIsNotChanged) {
  FloatNetwork net;
  const HostValueId x = net.conv(net.picture(), 3, 4);
  const HostNetwork folded = expect_same_outputs(net, {net.norm(x, 4), net.add("Relu", {x})});
  EXPECT_EQ(operators_of(folded), (Operators{"Conv", "BatchNormalization", "Relu"}));
}

TEST(HostFolding, MatMulAndBiasOfAMatrixAreGemm) {
  FloatNetwork net;
  HostValueId x = net.add("MatMul", {net.picture({2, 5}), net.weights({5, 4})});
  x = net.add("Add", {net.constant(net.reals({4})), x});
  EXPECT_EQ(operators_of(expect_same_outputs(net, {x})), Operators{"Gemm"});
}

TEST(HostFolding, TheBiasOfAStackStaysButAFactorGoesIntoTheWeights) {
  FloatNetwork net;
  HostValueId x = net.add("MatMul", {net.picture({2, 3, 5}), net.weights({5, 4})});
  x = net.add("Mul", {x, net.constant(net.reals({4}))});
  x = net.add("Add", {x, net.constant(net.reals({4}))});
  EXPECT_EQ(operators_of(expect_same_outputs(net, {x})), (Operators{"MatMul", "Add"}));
}

TEST(HostFolding, FactorsOfAGemmGoIntoItsConstants) {
  FloatNetwork net;
  const HostValueId x =
      net.add("Gemm", {net.picture({2, 5}), net.weights({4, 5}), net.constant(net.reals({4}))},
              {{"transB", Int{1}}, {"alpha", 0.5F}, {"beta", 2.0F}});
  const HostNetwork folded = expect_same_outputs(net, {x});
  EXPECT_FALSE(folded.nodes[0].attributes.contains("alpha"));
  EXPECT_FALSE(folded.nodes[0].attributes.contains("beta"));
}

TEST(HostFolding, NodesThatChangeNothingGoAndOutputsKeepTheirNames) {
  FloatNetwork net;
  HostValueId x = net.add("Identity", {net.picture()});
  x = net.add("Dropout", {net.conv(x, 3, 4)});
  x = net.add("Cast", {x}, {{"to", Int{1}}});
  const HostNetwork folded =
      expect_same_outputs(net, {net.add("Identity", {net.add("Relu", {x})})});
  EXPECT_EQ(operators_of(folded), (Operators{"Conv", "Relu"}));
}

TEST(HostFolding, AnIdentityBetweenInputAndOutputStays) {
  FloatNetwork net;
  EXPECT_EQ(operators_of(expect_same_outputs(net, {net.add("Identity", {net.picture()})})),
            Operators{"Identity"});
}

TEST(ProductWeights, RowsAreOutputChannelsAndComeBack) {
  FloatNetwork net;
  const HostValueId up = net.add(
      "ConvTranspose", {net.picture({1, 4, 3, 3}), net.weights({4, 3, 2, 2})}, {{"group", Int{2}}});
  net.output(up);
  golden::fold_and_shape(net.network);
  const auto product = product_weights(net.network, net.network.nodes[0]);
  ASSERT_TRUE(product.has_value());
  EXPECT_FALSE(product->axis.has_value());
  const Tensor& weights = net.network.values[net.network.nodes[0].inputs[1]].array.tensor;
  const Tensor rows = rows_of_channels(weights, product->layout);
  EXPECT_EQ(rows.shape, (Shape{6, 8}));
  // Channel 1 of group 1 is row 4: of inputs 2 and 3.
  EXPECT_EQ(rows.as<float>()[4 * 8 + 4], weights.as<float>()[(3 * 3 + 1) * 4]);
  EXPECT_EQ(from_rows(rows, product->layout, weights.shape), weights);
}

TEST(ProductWeights, AConvolutionOfComputedWeightsHasNone) {
  FloatNetwork net;
  const HostValueId kernel = net.input(DType::kFloat32, {4, 3, 3, 3});
  net.output(net.add("Conv", {net.picture(), kernel}));
  golden::fold_and_shape(net.network);
  EXPECT_FALSE(product_weights(net.network, net.network.nodes[0]).has_value());
}

}  // namespace
}  // namespace qsim::quantize
