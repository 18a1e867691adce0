// What several nodes make of each byte.
#include "golden/host/levels_function.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/golden/host/host_network_builder.h"
#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

// DequantizeLinear, nodes that a test adds, QuantizeLinear; scale 1/2 and zero_point 10.
class LevelsFunction : public ::testing::Test {
 protected:
  LevelsFunction()
      : scale_(built_.constant(f32({}, {0.5}))),
        zero_(built_.constant(u8({}, {10}))),
        x_(built_.input(DType::kUint8, {1, 2, 3})),
        real_(built_.add("DequantizeLinear", {x_, scale_, zero_})) {}

  std::optional<Tensor> table(HostValueId last) {
    const HostValueId levels = built_.add("QuantizeLinear", {last, scale_, zero_});
    std::vector<const HostNode*> nodes;
    for (const HostNode& node : built_.network.nodes) nodes.push_back(&node);
    return levels_function(built_.network, nodes, x_, levels);
  }

  HostNetworkBuilder built_;
  HostValueId scale_;
  HostValueId zero_;
  HostValueId x_;
  HostValueId real_;
};

TEST_F(LevelsFunction, HasALevelForEachByte) {
  const HostValueId half = built_.add("Mul", {real_, built_.constant(f32({1, 1, 1}, {0.5}))});
  const std::optional<Tensor> found = table(built_.add("Abs", {half}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shape, (Shape{256}));
  for (int byte = 0; byte < 256; ++byte) {
    const double real = std::abs((byte - 10) * 0.5 * 0.5);
    const auto level = std::min<long>(255, std::lrint(real / 0.5) + 10);
    EXPECT_EQ(std::to_integer<long>(found->bytes[static_cast<std::size_t>(byte)]), level) << byte;
  }
}

TEST_F(LevelsFunction, IsNoneOfNodesThatReadMoreThanOneElement) {
  EXPECT_FALSE(table(built_.add("Softmax", {real_})));
}

TEST_F(LevelsFunction, IsNoneWithAConstantOfSeveralElements) {
  EXPECT_FALSE(table(built_.add("Mul", {real_, built_.constant(f32({3}, {1, 2, 3}))})));
}

TEST_F(LevelsFunction, IsNoneWhereANumberIsNan) {
  EXPECT_FALSE(table(built_.add("Sqrt", {real_})));
}

}  // namespace
}  // namespace qsim::golden
