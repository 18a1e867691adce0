// What nodes cost, counted from shapes by hand.
#include "golden/host/host_costs.h"

#include <gtest/gtest.h>

#include "golden/host/host_executor.h"
#include "tests/golden/host/host_network_builder.h"
#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

// Of a node that reads tensors of those shapes.
class HostCosts : public ::testing::Test {
 protected:
  std::int64_t operations(const std::string& op, const std::vector<Shape>& shapes,
                          std::map<std::string, HostAttribute, std::less<>> attributes = {}) {
    built_ = {};
    std::vector<HostValueId> inputs;
    inputs.reserve(shapes.size());
    for (const Shape& shape : shapes) inputs.push_back(built_.input(DType::kFloat32, shape));
    built_.add(op, inputs, std::move(attributes));
    fold_and_shape(built_.network);
    return host_operations(built_.network, built_.network.nodes[0]);
  }
  std::int64_t bytes() const { return host_bytes(built_.network, built_.network.nodes[0]); }

  HostNetworkBuilder built_;
};

TEST_F(HostCosts, AConvolutionMultipliesItsWeightsAtEachOutput) {
  EXPECT_EQ(operations("Conv", {{1, 2, 5, 5}, {3, 2, 3, 3}}), 3 * 9 * 2 * 9);
  EXPECT_EQ(bytes(), 4 * (50 + 54 + 27));
  EXPECT_EQ(operations("Conv", {{1, 4, 5, 5}, {4, 1, 3, 3}}, {{"group", Int{4}}}), 4 * 9 * 9);
  EXPECT_EQ(operations("ConvTranspose", {{1, 2, 5, 5}, {2, 3, 3, 3}}), 2 * 25 * 3 * 9);
}

TEST_F(HostCosts, AProductMultipliesAlongTheSumAtEachOutput) {
  EXPECT_EQ(operations("MatMul", {{7, 2, 3}, {3, 5}}), 7 * 2 * 3 * 5);
  EXPECT_EQ(operations("Gemm", {{2, 3}, {3, 5}}), 2 * 3 * 5);
  EXPECT_EQ(operations("Gemm", {{3, 2}, {5, 3}}, {{"transA", Int{1}}, {"transB", Int{1}}}),
            2 * 3 * 5);
}

TEST_F(HostCosts, OthersCostTheElementsOfTheirLargerSide) {
  EXPECT_EQ(operations("Relu", {{2, 3}}), 6);
  EXPECT_EQ(operations("Add", {{2, 1}, {3}}), 6);
  EXPECT_EQ(bytes(), 4 * (2 + 3 + 6));
  EXPECT_EQ(operations("GlobalAveragePool", {{1, 2, 5, 5}}), 50);
}

TEST_F(HostCosts, WhatIsNotKnownCostsNothing) {
  EXPECT_EQ(operations("NonZero", {{2, 3}}), 0);
  EXPECT_EQ(bytes(), 4 * 6);
  built_ = {};
  const HostValueId x = built_.input(DType::kFloat32);
  built_.add("Clip", {x, kAbsentValue, built_.constant(f32({}, {1}))});
  fold_and_shape(built_.network);
  EXPECT_EQ(host_operations(built_.network, built_.network.nodes[0]), 0);
  EXPECT_EQ(bytes(), 4);
  EXPECT_EQ(value_bytes(built_.network.values[x]), 0);
}

TEST_F(HostCosts, AQuantizedConvolutionHasItsWeightsElsewhere) {
  built_ = {};
  const auto scalar = [&](DType dtype) { return built_.input(dtype, {}); };
  const HostValueId x = built_.input(DType::kUint8, {1, 2, 4, 4});
  const HostValueId x_scale = scalar(DType::kFloat32);
  const HostValueId x_zero = scalar(DType::kUint8);
  const HostValueId w = built_.input(DType::kInt8, {3, 2, 2, 2});
  built_.add("QLinearConv", {x, x_scale, x_zero, w, scalar(DType::kFloat32), scalar(DType::kInt8),
                             scalar(DType::kFloat32), scalar(DType::kUint8)});
  fold_and_shape(built_.network);
  EXPECT_EQ(host_operations(built_.network, built_.network.nodes[0]), 3 * 9 * 2 * 4);
  EXPECT_EQ(bytes(), 32 + 24 + 27 + 3 * 4 + 3);
}

}  // namespace
}  // namespace qsim::golden
