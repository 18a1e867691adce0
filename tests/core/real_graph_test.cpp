// validate() of a RealGraph refuses each kind of broken graph with a message that names the layer.
#include "core/real_graph.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/graph_refusals.h"

namespace qsim {
namespace {

// conv 3x3 (2 groups) -> clip -> concat with the input -> average pool -> max pool -> add to
// itself -> flatten -> linear.
RealGraph small_network() {
  RealGraph graph;
  graph.name = "small";
  graph.tensors[0] = {2, 6, 6, 4};
  RealConv2d conv{{3, 3, 1, 1, 1, 1, 1, 1},
                  Tensor(DType::kFloat32, {8, 3, 3, 2}),
                  Tensor(DType::kFloat32, {8}),
                  2};
  append(graph, "conv", conv, {0}, {2, 6, 6, 8});
  RealActivation clip{.kind = RealActivation::Kind::kClip, .lo = 0, .hi = 6};
  append(graph, "clip", clip, {1}, {2, 6, 6, 8});
  append(graph, "concat", RealConcat{}, {2, 0}, {2, 6, 6, 12});
  append(graph, "average", RealAveragePool{{2, 2, 2, 2}, true}, {3}, {2, 3, 3, 12});
  append(graph, "max", RealMaxPool{{2, 2, 2, 2}}, {4}, {2, 2, 2, 12});  // ceil_mode
  append(graph, "add", RealAdd{}, {5, 5}, {2, 2, 2, 12});
  append(graph, "flatten", RealFlatten{}, {6}, {2, 1, 1, 48});
  RealLinear linear{Tensor(DType::kFloat32, {10, 48}), Tensor(DType::kFloat32, {10})};
  append(graph, "fc", linear, {7}, {2, 1, 1, 10});
  return graph;
}

template <typename Kind>
Kind& of(RealGraph& graph, std::size_t layer) {
  return std::get<Kind>(graph.layers[layer].operation);
}

using testing::refusal;

void expect_refusals(const std::vector<testing::Breakage<RealGraph>>& breakages) {
  testing::expect_refusals(small_network(), breakages);
}

TEST(RealGraph, AcceptsAValidNetwork) { EXPECT_EQ(refusal(small_network()), ""); }

TEST(RealGraph, RefusesWeightsThatAreNotFiniteByLayerAndIndex) {
  expect_refusals({
      {"layer 'conv': weights has nan at index 5; expected finite numbers",
       [](RealGraph& g) { of<RealConv2d>(g, 0).weights.as<float>()[5] = std::nanf(""); }},
      {"layer 'conv': bias has -inf at index 7; expected finite numbers",
       [](RealGraph& g) {
         of<RealConv2d>(g, 0).bias.as<float>()[7] = -std::numeric_limits<float>::infinity();
       }},
      {"net.onnx: node 'fc' (Gemm): weights has inf at index 0; expected finite numbers",
       [](RealGraph& g) {
         g.layers[7].source = "net.onnx: node 'fc' (Gemm)";
         of<RealLinear>(g, 7).weights.as<float>()[0] = std::numeric_limits<float>::infinity();
       }},
      {"layer 'fc': bias has nan at index 9; expected finite numbers",
       [](RealGraph& g) { of<RealLinear>(g, 7).bias.as<float>()[9] = std::nanf(""); }},
  });
}

TEST(RealGraph, RefusesBrokenConstants) {
  expect_refusals({
      {"layer 'conv': weights is float32 [8, 3, 3, 4]; expected float32 [8, 3, 3, 2]",
       [](RealGraph& g) {
         of<RealConv2d>(g, 0).weights = Tensor(DType::kFloat32, {8, 3, 3, 4});
       }},
      {"layer 'conv': 3 groups do not divide 4 input channels and 8 output channels",
       [](RealGraph& g) { of<RealConv2d>(g, 0).groups = 3; }},
      {"layer 'fc': bias is int32 [10]; expected float32 [10]",
       [](RealGraph& g) { of<RealLinear>(g, 7).bias = Tensor(DType::kInt32, {10}); }},
      {"layer 'clip': clip range 7.000000..6.000000; expected lo at most hi",
       [](RealGraph& g) { of<RealActivation>(g, 1).lo = 7; }},
      {"layer 'clip': clip range nan..6.000000; expected lo at most hi",
       [](RealGraph& g) { of<RealActivation>(g, 1).lo = std::nanf(""); }},
      {"layer 'clip': alpha or beta is not a finite number; expected finite numbers",
       [](RealGraph& g) { of<RealActivation>(g, 1).beta = std::nanf(""); }},
  });
}

TEST(RealGraph, RefusesBrokenShapesAndWindows) {
  expect_refusals({
      {"graph input: shape [2, 0, 6, 4]", [](RealGraph& g) { g.tensors[0].height = 0; }},
      {"layer 'conv': output shape [2, 6, 6, 8]; expected [2, 5, 6, 8]",
       [](RealGraph& g) { of<RealConv2d>(g, 0).window.pad_top = 0; }},
      {"layer 'clip': output shape [2, 6, 5, 8]; expected [2, 6, 6, 8]",
       [](RealGraph& g) { g.tensors[2].width = 5; }},
      {"layer 'concat': output shape [2, 6, 6, 13]; expected [2, 6, 6, 12]",
       [](RealGraph& g) { g.tensors[3].channels = 13; }},
      {"layer 'average': dilation is 2 x 1; average_pool takes 1 alone",
       [](RealGraph& g) {
         of<RealAveragePool>(g, 3).window.dilation_h = 2;
         g.tensors[4].height = 2;
       }},
      {"layer 'max': padding is as large as the pooling kernel; allowed: less",
       [](RealGraph& g) { of<RealMaxPool>(g, 4).window.pad_left = 2; }},
      {"layer 'add': reads a tensor [2, 2, 2, 12]; expected [2, 2, 1, 12]",
       [](RealGraph& g) { g.tensors[6].width = 1; }},
      {"layer 'flatten': output shape [2, 1, 1, 47]; expected [2, 1, 1, 48]",
       [](RealGraph& g) { g.tensors[7].channels = 47; }},
      {"layer 'fc': reads a picture [2, 2, 2, 12]; flatten it first",
       [](RealGraph& g) {
         g.layers[6].operation = RealActivation{};
         g.tensors[7] = g.tensors[6];
       }},
      {"layer 'fc': output shape [1, 1, 1, 10]; expected [2, 1, 1, 10]",
       [](RealGraph& g) { g.tensors[8].batch = 1; }},
  });
}

TEST(RealGraph, RefusesBrokenOrderAndNames) {
  expect_refusals({
      {"graph 'small' has no layers", [](RealGraph& g) { g.layers.clear(); }},
      {"two layers are called 'conv'; names must be unique",
       [](RealGraph& g) { g.layers[7].name = "conv"; }},
      {"layer 'add': reads 1 tensors; add reads 2", [](RealGraph& g) { g.layers[5].inputs = {5}; }},
      {"layer 'clip': reads the output of layer 'average', which is not before it; put it after "
       "the layers that it reads",
       [](RealGraph& g) { g.layers[1].inputs = {4}; }},
      {"layer 'conv': no layer reads its output; only the last layer's output is the network's",
       [](RealGraph& g) { g.layers[1].inputs = {0}; }},
  });
}

TEST(RealGraph, TakesAnotherBatchInEveryTensor) {
  RealGraph graph = small_network();
  set_batch(graph, 7);
  EXPECT_EQ(refusal(graph), "");
  EXPECT_EQ(graph.input_shape(), (ImageShape{7, 6, 6, 4}));
  EXPECT_EQ(graph.output_shape(), (ImageShape{7, 1, 1, 10}));
}

TEST(RealGraph, NamesEveryOperation) {
  using Kind = RealActivation::Kind;
  EXPECT_EQ(operation_name(RealConv2d{}), "conv2d");
  EXPECT_EQ(operation_name(RealLinear{}), "linear");
  EXPECT_EQ(operation_name(RealMaxPool{}), "max_pool");
  EXPECT_EQ(operation_name(RealAveragePool{}), "average_pool");
  EXPECT_EQ(operation_name(RealAdd{}), "add");
  EXPECT_EQ(operation_name(RealConcat{}), "concat");
  EXPECT_EQ(operation_name(RealFlatten{}), "flatten");
  EXPECT_EQ(operation_name(RealActivation{.kind = Kind::kRelu}), "relu");
  EXPECT_EQ(operation_name(RealActivation{.kind = Kind::kClip}), "clip");
  EXPECT_EQ(operation_name(RealActivation{.kind = Kind::kLeakyRelu}), "leaky_relu");
  EXPECT_EQ(operation_name(RealActivation{.kind = Kind::kSigmoid}), "sigmoid");
  EXPECT_EQ(operation_name(RealActivation{.kind = Kind::kHardSigmoid}), "hard_sigmoid");
  EXPECT_EQ(operation_name(RealActivation{.kind = Kind::kHardSwish}), "hard_swish");
}

}  // namespace
}  // namespace qsim
