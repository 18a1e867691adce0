// validate() of a Graph refuses each kind of broken graph with a message that names the layer.
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/graph.h"
#include "tests/core/graph_refusals.h"

namespace qsim {
namespace {

// conv 3x3 (2 groups) -> clip -> concat with the input -> average pool -> max pool -> add to
// itself -> flatten -> linear.
Graph small_network() {
  Graph graph;
  graph.name = "small";
  graph.tensors[0] = {2, 6, 6, 4};
  Conv2d conv{{3, 3, 1, 1, 1, 1, 1, 1},
              Tensor(DType::kFloat32, {8, 3, 3, 2}),
              Tensor(DType::kFloat32, {8}),
              2};
  append(graph, "conv", conv, {0}, {2, 6, 6, 8});
  Activation clip{.kind = Activation::Kind::kClip, .lo = 0, .hi = 6};
  append(graph, "clip", clip, {1}, {2, 6, 6, 8});
  append(graph, "concat", Concat{}, {2, 0}, {2, 6, 6, 12});
  append(graph, "average", AveragePool{{2, 2, 2, 2}, true}, {3}, {2, 3, 3, 12});
  append(graph, "max", MaxPool{{2, 2, 2, 2}}, {4}, {2, 2, 2, 12});  // ceil_mode
  append(graph, "add", Add{}, {5, 5}, {2, 2, 2, 12});
  append(graph, "flatten", Flatten{}, {6}, {2, 1, 1, 48});
  FullyConnected linear{Tensor(DType::kFloat32, {10, 48}), Tensor(DType::kFloat32, {10})};
  append(graph, "fc", linear, {7}, {2, 1, 1, 10});
  return graph;
}

template <typename Kind>
Kind& of(Graph& graph, std::size_t layer) {
  return std::get<Kind>(graph.layers[layer].operation);
}

using testing::refusal;

void expect_refusals(const std::vector<testing::Breakage<Graph>>& breakages) {
  testing::expect_refusals(small_network(), breakages);
}

TEST(Graph, AcceptsAValidNetwork) { EXPECT_EQ(refusal(small_network()), ""); }

TEST(Graph, RefusesWeightsThatAreNotFiniteByLayerAndIndex) {
  expect_refusals({
      {"layer 'conv': weights has nan at index 5; expected finite numbers",
       [](Graph& g) { of<Conv2d>(g, 0).weights.as<float>()[5] = std::nanf(""); }},
      {"layer 'conv': bias has -inf at index 7; expected finite numbers",
       [](Graph& g) {
         of<Conv2d>(g, 0).bias.as<float>()[7] = -std::numeric_limits<float>::infinity();
       }},
      {"net.onnx: node 'fc' (Gemm): weights has inf at index 0; expected finite numbers",
       [](Graph& g) {
         g.layers[7].source = "net.onnx: node 'fc' (Gemm)";
         of<FullyConnected>(g, 7).weights.as<float>()[0] = std::numeric_limits<float>::infinity();
       }},
      {"layer 'fc': bias has nan at index 9; expected finite numbers",
       [](Graph& g) { of<FullyConnected>(g, 7).bias.as<float>()[9] = std::nanf(""); }},
  });
}

TEST(Graph, RefusesBrokenConstants) {
  expect_refusals({
      {"layer 'conv': weights is float32 [8, 3, 3, 4]; expected float32 [8, 3, 3, 2]",
       [](Graph& g) {
         of<Conv2d>(g, 0).weights = Tensor(DType::kFloat32, {8, 3, 3, 4});
       }},
      {"layer 'conv': 3 groups do not divide 4 input channels and 8 output channels",
       [](Graph& g) { of<Conv2d>(g, 0).groups = 3; }},
      {"layer 'fc': bias is int32 [10]; expected float32 [10]",
       [](Graph& g) { of<FullyConnected>(g, 7).bias = Tensor(DType::kInt32, {10}); }},
      {"layer 'clip': clip range 7.000000..6.000000; expected lo at most hi",
       [](Graph& g) { of<Activation>(g, 1).lo = 7; }},
      {"layer 'clip': clip range nan..6.000000; expected lo at most hi",
       [](Graph& g) { of<Activation>(g, 1).lo = std::nanf(""); }},
      {"layer 'clip': alpha or beta is not a finite number; expected finite numbers",
       [](Graph& g) { of<Activation>(g, 1).beta = std::nanf(""); }},
  });
}

TEST(Graph, RefusesBrokenShapesAndWindows) {
  expect_refusals({
      {"graph input: shape [2, 0, 6, 4]", [](Graph& g) { g.tensors[0].height = 0; }},
      {"layer 'conv': output shape [2, 6, 6, 8]; expected [2, 5, 6, 8]",
       [](Graph& g) { of<Conv2d>(g, 0).window.pad_top = 0; }},
      {"layer 'clip': output shape [2, 6, 5, 8]; expected [2, 6, 6, 8]",
       [](Graph& g) { g.tensors[2].width = 5; }},
      {"layer 'concat': output shape [2, 6, 6, 13]; expected [2, 6, 6, 12]",
       [](Graph& g) { g.tensors[3].channels = 13; }},
      {"layer 'average': dilation is 2 x 1; average_pool takes 1 alone",
       [](Graph& g) {
         of<AveragePool>(g, 3).window.dilation_h = 2;
         g.tensors[4].height = 2;
       }},
      {"layer 'max': padding is as large as the pooling kernel; allowed: less",
       [](Graph& g) { of<MaxPool>(g, 4).window.pad_left = 2; }},
      {"layer 'add': reads a tensor [2, 2, 2, 12]; expected [2, 2, 1, 12]",
       [](Graph& g) { g.tensors[6].width = 1; }},
      {"layer 'flatten': output shape [2, 1, 1, 47]; expected [2, 1, 1, 48]",
       [](Graph& g) { g.tensors[7].channels = 47; }},
      {"layer 'fc': reads a picture [2, 2, 2, 12]; flatten it first",
       [](Graph& g) {
         g.layers[6].operation = Activation{};
         g.tensors[7] = g.tensors[6];
       }},
      {"layer 'fc': output shape [1, 1, 1, 10]; expected [2, 1, 1, 10]",
       [](Graph& g) { g.tensors[8].batch = 1; }},
  });
}

TEST(Graph, RefusesBrokenOrderAndNames) {
  expect_refusals({
      {"graph 'small' has no layers", [](Graph& g) { g.layers.clear(); }},
      {"two layers are called 'conv'; names must be unique",
       [](Graph& g) { g.layers[7].name = "conv"; }},
      {"layer 'add': reads 1 tensors; add reads 2", [](Graph& g) { g.layers[5].inputs = {5}; }},
      {"layer 'clip': reads the output of layer 'average', which is not before it; put it after "
       "the layers that it reads",
       [](Graph& g) { g.layers[1].inputs = {4}; }},
      {"layer 'conv': no layer reads its output; only the last layer's output is the network's",
       [](Graph& g) { g.layers[1].inputs = {0}; }},
  });
}

TEST(Graph, TakesAnotherBatchInEveryTensor) {
  Graph graph = small_network();
  set_batch(graph, 7);
  EXPECT_EQ(refusal(graph), "");
  EXPECT_EQ(graph.input_shape(), (ImageShape{7, 6, 6, 4}));
  EXPECT_EQ(graph.output_shape(), (ImageShape{7, 1, 1, 10}));
}

TEST(Graph, NamesEveryOperation) {
  using Kind = Activation::Kind;
  EXPECT_EQ(operation_name(Conv2d{}), "conv2d");
  EXPECT_EQ(operation_name(FullyConnected{}), "linear");
  EXPECT_EQ(operation_name(MaxPool{}), "max_pool");
  EXPECT_EQ(operation_name(AveragePool{}), "average_pool");
  EXPECT_EQ(operation_name(Add{}), "add");
  EXPECT_EQ(operation_name(Concat{}), "concat");
  EXPECT_EQ(operation_name(Flatten{}), "flatten");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kRelu}), "relu");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kClip}), "clip");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kLeakyRelu}), "leaky_relu");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kSigmoid}), "sigmoid");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kHardSigmoid}), "hard_sigmoid");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kHardSwish}), "hard_swish");
}

}  // namespace
}  // namespace qsim
