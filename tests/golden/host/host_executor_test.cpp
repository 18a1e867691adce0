// What is known of a network before it runs, and its run.
#include "golden/host/host_executor.h"

#include <gtest/gtest.h>

#include "tests/compiler/refusal.h"
#include "tests/golden/host/host_network_builder.h"
#include "tests/golden/host/one_node.h"

namespace qsim::golden {
namespace {

std::string refused(const std::function<void()>& action) { return testing::refusal(action, kBad); }

TEST(FoldAndShape, WhatComesOfConstantsIsAConstant) {
  HostNetworkBuilder built;
  const HostValueId sum =
      built.add("Add", {built.constant(f32({2}, {1, 2})), built.constant(f32({}, {10}))});
  const HostValueId product = built.add("Mul", {sum, built.constant(f32({}, {2}))});
  const HostValueId result = built.add("Add", {built.input(DType::kFloat32, {2}), product});
  fold_and_shape(built.network);
  EXPECT_EQ(built.array(product).tensor, f32({2}, {22, 24}));
  EXPECT_EQ(known_of(built.array(result)), "float32 [2]");
  EXPECT_TRUE(is_folded(built.network, built.network.nodes[1]));
  EXPECT_FALSE(is_folded(built.network, built.network.nodes[2]));
}

// What PyTorch's x.view(x.shape[0], -1) becomes.
TEST(FoldAndShape, ShapesFollowFromChainsOfShapes) {
  HostNetworkBuilder built;
  const HostValueId x = built.input(DType::kFloat32, {2, 3, 4});
  const HostValueId first =
      built.add("Gather", {built.add("Shape", {x}), built.constant(i64({}, {0}))});
  const HostValueId row = built.add("Unsqueeze", {first, built.constant(list({0}))});
  const HostValueId shape =
      built.add("Concat", {row, built.constant(list({-1}))}, {{"axis", Int{0}}});
  const HostValueId flat = built.add("Reshape", {x, shape});
  fold_and_shape(built.network);
  EXPECT_EQ(built.array(shape).tensor, list({2, -1}));
  EXPECT_EQ(known_of(built.array(flat)), "float32 [2, 12]");
}

TEST(FoldAndShape, AShapeOfDataStaysUnknownAndWhatFollowsToo) {
  HostNetworkBuilder built;
  const HostValueId x = built.input(DType::kFloat32, {3});
  const HostValueId places = built.add("NonZero", {x});
  const HostValueId turned = built.add("Transpose", {places});
  const HostValueId count = built.add("Shape", {turned});
  const HostValueId other = built.add("Relu", {x});
  for (const HostValueId id : {turned, count, other}) built.output(id);
  fold_and_shape(built.network);
  EXPECT_EQ(known_of(built.array(places)), "unknown");
  EXPECT_EQ(known_of(built.array(turned)), "unknown");
  EXPECT_EQ(known_of(built.array(other)), "float32 [3]");
  EXPECT_EQ(run_host_network(built.network, {f32({3}, {5, 0, -6})}),
            (std::vector<Tensor>{i64({2, 1}, {0, 2}), list({2, 1}), f32({3}, {5, 0, 0})}));
}

TEST(FoldAndShape, AnInputOfUnknownShapeRunsWithAny) {
  HostNetworkBuilder built;
  built.output(built.add("Neg", {built.input(DType::kFloat32)}));
  fold_and_shape(built.network);
  EXPECT_EQ(run_host_network(built.network, {f32({2}, {1, -2})}),
            (std::vector<Tensor>{f32({2}, {-1, 2})}));
  EXPECT_EQ(run_host_network(built.network, {f32({1, 1}, {3})}),
            (std::vector<Tensor>{f32({1, 1}, {-3})}));
}

TEST(FoldAndShape, ANodeThatIsMalformedIsRefusedBeforeARun) {
  HostNetworkBuilder built;
  built.add("MatMul", {built.input(DType::kFloat32, {2, 3}), built.input(DType::kFloat32, {2, 3})});
  EXPECT_TRUE(refused([&] {
                fold_and_shape(built.network);
              }).starts_with("test.onnx: node 'MatMul_0' (MatMul): "));
}

TEST(HostRun, RunsANodeAndKeepsWhatItWrites) {
  HostNetworkBuilder built;
  const HostValueId x = built.input(DType::kFloat32, {2});
  const HostValueId y = built.add("Add", {x, built.constant(f32({2}, {10, 20}))});
  fold_and_shape(built.network);
  HostRun run(built.network);
  run.set(x, f32({2}, {1, 2}));
  run.run(built.network.nodes[0]);
  EXPECT_EQ(run.get(y), f32({2}, {11, 22}));
  run.set(x, f32({2}, {3, 4}));
  run.run(built.network.nodes[0]);
  EXPECT_EQ(run.get(y), f32({2}, {13, 24}));
  EXPECT_EQ(known_of(built.array(y)), "float32 [2]");
}

TEST(HostRun, AnInputOfAnotherTypeOrShapeIsRefused) {
  HostNetworkBuilder built;
  const HostValueId x = built.input(DType::kFloat32, {2});
  HostRun run(built.network);
  EXPECT_EQ(refused([&] {
              run.set(x, f32({3}, {1, 2, 3}));
            }),
            "'input_0' is float32 [3]; expected float32 [2]");
  EXPECT_EQ(refused([&] {
              run.set(x, i32({2}, {1, 2}));
            }),
            "'input_0' is int32 [2]; expected float32 [2]");
}

TEST(HostRun, OutputsAreInTheNetworksOrderAndMayBeInputsOrConstants) {
  HostNetworkBuilder built;
  const HostValueId x = built.input(DType::kFloat32, {1});
  const HostValueId seven = built.constant(f32({1}, {7}));
  const HostValueId sum = built.add("Add", {x, seven});
  const HostValueId folded = built.add("Neg", {seven});
  for (const HostValueId id : {folded, sum, x, seven}) built.output(id);
  fold_and_shape(built.network);
  EXPECT_EQ(run_host_network(built.network, {f32({1}, {5})}),
            (std::vector<Tensor>{f32({1}, {-7}), f32({1}, {12}), f32({1}, {5}), f32({1}, {7})}));
}

}  // namespace
}  // namespace qsim::golden
