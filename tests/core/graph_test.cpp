// Graph::validate refuses each kind of broken graph with a message that names the layer, and
// window_count agrees with a count made by walking the windows.
#include "core/network/graph.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/graph_refusals.h"

namespace qsim {
namespace {

Value value_of(ImageShape shape) { return {.shape = shape, .scale = {}}; }

// conv 3x3 -> relu -> max_pool 2x2 -> flatten -> fully connected, all valid.
Graph small_network() {
  Graph graph;
  graph.name = "small";
  graph.input_value() = value_of({2, 6, 6, 3});
  Conv2d conv{.window = {3, 3, 1, 1, 1, 1, 1, 1},
              .weights = Tensor(DType::kInt8, {8, 3, 3, 3}),
              .bias = Tensor(DType::kInt32, {8}),
              .requantization = {.shifts = {7}}};
  append(graph, "conv", conv, value_of({2, 6, 6, 8}));
  append(graph, "relu", Relu{}, value_of({2, 6, 6, 8}));
  append(graph, "pool", MaxPool{{2, 2, 2, 2, 0, 0, 0, 0}}, value_of({2, 3, 3, 8}));
  append(graph, "flatten", Flatten{}, value_of({2, 1, 1, 72}));
  FullyConnected fc{.weights = Tensor(DType::kInt8, {10, 72}),
                    .bias = Tensor(DType::kInt32, {10}),
                    .requantization = {.shifts = std::vector<std::uint8_t>(10, 5)}};
  append(graph, "fc", fc, value_of({2, 1, 1, 10}));
  return graph;
}

// conv 3x3 (2 groups) -> clip -> concat with the input -> average pool -> max pool -> add to
// itself -> flatten -> linear.
Graph small_float_network() {
  Graph graph;
  graph.name = "small";
  graph.input_value() = real_value({2, 6, 6, 4});
  Conv2d conv{.window = {3, 3, 1, 1, 1, 1, 1, 1},
              .weights = Tensor(DType::kFloat32, {8, 3, 3, 2}),
              .bias = Tensor(DType::kFloat32, {8}),
              .groups = 2};
  append(graph, "conv", conv, {0}, real_value({2, 6, 6, 8}));
  Activation clip{.kind = Activation::Kind::kClip, .lo = 0, .hi = 6};
  append(graph, "clip", clip, {1}, real_value({2, 6, 6, 8}));
  append(graph, "concat", Concat{}, {2, 0}, real_value({2, 6, 6, 12}));
  append(graph, "average", AveragePool{{2, 2, 2, 2}, true}, {3}, real_value({2, 3, 3, 12}));
  append(graph, "max", MaxPool{{2, 2, 2, 2}}, {4}, real_value({2, 2, 2, 12}));  // ceil_mode
  append(graph, "add", Add{}, {5, 5}, real_value({2, 2, 2, 12}));
  append(graph, "flatten", Flatten{}, {6}, real_value({2, 1, 1, 48}));
  FullyConnected linear{Tensor(DType::kFloat32, {10, 48}), Tensor(DType::kFloat32, {10})};
  append(graph, "fc", linear, {7}, real_value({2, 1, 1, 10}));
  return graph;
}

template <typename Kind>
Kind& of(Graph& graph, std::size_t layer) {
  return std::get<Kind>(graph.layers[layer].operation);
}

Conv2d& conv(Graph& graph) { return of<Conv2d>(graph, 0); }
FullyConnected& fc(Graph& graph) { return of<FullyConnected>(graph, 4); }
MaxPool& pool(Graph& graph) { return of<MaxPool>(graph, 2); }

using testing::expect_refusals;
using testing::refusal;

TEST(Graph, AcceptsValidNetworks) {
  EXPECT_EQ(refusal(small_network()), "");
  EXPECT_EQ(refusal(small_float_network()), "");
}

TEST(Graph, RefusesBrokenWeightsBiasesAndShifts) {
  expect_refusals(
      small_network(),
      {
          {"layer 'conv': weights is int8 [8, 3, 3, 4]; expected int8 [8, 3, 3, 3]",
           [](Graph& g) {
             conv(g).weights = Tensor(DType::kInt8, {8, 3, 3, 4});
           }},
          {"layer 'conv': bias is float32 [8]; expected int32 [8]",
           [](Graph& g) { conv(g).bias = Tensor(DType::kFloat32, {8}); }},
          {"layer 'fc': weights is uint8 [10, 72]; expected int8 [10, 72]",
           [](Graph& g) {
             fc(g).weights = Tensor(DType::kUint8, {10, 72});
           }},
          {"layer 'conv': 0 shifts; expected 1 or 8",
           [](Graph& g) { conv(g).requantization.shifts.clear(); }},
          {"layer 'fc': 9 shifts; expected 1 or 10",
           [](Graph& g) { fc(g).requantization.shifts.pop_back(); }},
          {"layer 'fc': shift 32 is outside 0..31",
           [](Graph& g) { fc(g).requantization.shifts[9] = 32; }},
          {"layer 'conv': clamp range 3..2 is not within -128..127",
           [](Graph& g) { conv(g).requantization.lo = 3, conv(g).requantization.hi = 2; }},
          {"layer 'fc': clamp range -128..128 is not within -128..127",
           [](Graph& g) { fc(g).requantization.hi = 128; }},
      });
}

TEST(Graph, RefusesBrokenWindowsAndShapes) {
  expect_refusals(small_network(),
                  {
                      {"layer 'conv': kernel is smaller than 1; allowed: 1 or more",
                       [](Graph& g) { conv(g).window.kernel_w = 0; }},
                      {"layer 'conv': stride is smaller than 1; allowed: 1 or more",
                       [](Graph& g) { conv(g).window.stride_h = 0; }},
                      {"layer 'conv': padding is negative; allowed: 0 or more",
                       [](Graph& g) { conv(g).window.pad_right = -1; }},
                      {"layer 'conv': output shape [2, 6, 6, 8]; expected [2, 5, 6, 8]",
                       [](Graph& g) { conv(g).window.pad_bottom = 0; }},
                      {"layer 'relu': output shape [2, 6, 5, 8]; expected [2, 6, 6, 8]",
                       [](Graph& g) { g.output_of(1).shape.width = 5; }},
                      {"layer 'pool': padding is as large as the pooling kernel; allowed: less",
                       [](Graph& g) { pool(g).window.pad_left = 2; }},
                      {"layer 'pool': output shape [2, 4, 3, 8]; expected [2, 3, 3, 8]",
                       [](Graph& g) { g.output_of(2).shape.height = 4; }},
                      {"layer 'flatten': output shape [2, 1, 1, 71]; expected [2, 1, 1, 72]",
                       [](Graph& g) { g.output_of(3).shape.channels = 71; }},
                      {"layer 'fc': reads a picture [2, 3, 3, 8]; flatten it first",
                       [](Graph& g) {
                         g.layers.erase(g.layers.begin() + 3);
                         g.layers[3].inputs = {g.layers[2].output};
                         g.layers[3].output = g.output = 4;
                         g.tensors.erase(g.tensors.begin() + 4);
                       }},
                  });
}

TEST(Graph, RefusesBrokenValuesAndNames) {
  expect_refusals(
      small_network(),
      {
          {"graph 'small' has no layers", [](Graph& g) { g.layers.clear(); }},
          {"two layers are called 'conv'; names must be unique",
           [](Graph& g) { g.layers[4].name = "conv"; }},
          {"graph input: dtype int32; activations are int8 or uint8",
           [](Graph& g) { g.input_value().dtype = DType::kInt32; }},
          {"graph input: zero_point 128 is outside -128..127",
           [](Graph& g) { g.input_value().zero_point = 128; }},
          {"layer 'fc' output: zero_point -1 is outside 0..255",
           [](Graph& g) { g.output_of(4).dtype = DType::kUint8, g.output_of(4).zero_point = -1; }},
          {"graph input: shape [0, 6, 6, 3]", [](Graph& g) { g.input_value().shape.batch = 0; }},
          {"layer 'relu': changes dtype, zero_point or scale, which relu cannot",
           [](Graph& g) { g.output_of(1).zero_point = 1; }},
          {"layer 'pool': changes dtype, zero_point or scale, which max_pool cannot",
           [](Graph& g) { g.output_of(2).dtype = DType::kUint8; }},
          {"layer 'relu': changes dtype, zero_point or scale, which relu cannot",
           [](Graph& g) { g.output_of(1).scale = Scale::power_of_two(3); }},
          {"layer 'flatten': changes dtype, zero_point or scale, which flatten cannot",
           [](Graph& g) { g.output_of(3).scale = Scale::of(0.3F); }},
      });
}

TEST(Graph, RefusesWeightsThatAreNotFiniteByLayerAndIndex) {
  expect_refusals(
      small_float_network(),
      {
          {"layer 'conv': weights has nan at index 5; expected finite numbers",
           [](Graph& g) { of<Conv2d>(g, 0).weights.as<float>()[5] = std::nanf(""); }},
          {"layer 'conv': bias has -inf at index 7; expected finite numbers",
           [](Graph& g) {
             of<Conv2d>(g, 0).bias.as<float>()[7] = -std::numeric_limits<float>::infinity();
           }},
          {"net.onnx: node 'fc' (Gemm): weights has inf at index 0; expected finite numbers",
           [](Graph& g) {
             g.layers[7].source = "net.onnx: node 'fc' (Gemm)";
             of<FullyConnected>(g, 7).weights.as<float>()[0] =
                 std::numeric_limits<float>::infinity();
           }},
          {"layer 'fc': bias has nan at index 9; expected finite numbers",
           [](Graph& g) { of<FullyConnected>(g, 7).bias.as<float>()[9] = std::nanf(""); }},
      });
}

TEST(Graph, RefusesBrokenConstantsOfFloats) {
  expect_refusals(
      small_float_network(),
      {
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

TEST(Graph, RefusesBrokenShapesAndWindowsOfFloats) {
  expect_refusals(
      small_float_network(),
      {
          {"graph input: shape [2, 0, 6, 4]", [](Graph& g) { g.tensors[0].shape.height = 0; }},
          {"layer 'conv': output shape [2, 6, 6, 8]; expected [2, 5, 6, 8]",
           [](Graph& g) { of<Conv2d>(g, 0).window.pad_top = 0; }},
          {"layer 'clip': output shape [2, 6, 5, 8]; expected [2, 6, 6, 8]",
           [](Graph& g) { g.tensors[2].shape.width = 5; }},
          {"layer 'concat': output shape [2, 6, 6, 13]; expected [2, 6, 6, 12]",
           [](Graph& g) { g.tensors[3].shape.channels = 13; }},
          {"layer 'average': dilation is 2 x 1; average_pool takes 1 alone",
           [](Graph& g) {
             of<AveragePool>(g, 3).window.dilation_h = 2;
             g.tensors[4].shape.height = 2;
           }},
          {"layer 'max': padding is as large as the pooling kernel; allowed: less",
           [](Graph& g) { of<MaxPool>(g, 4).window.pad_left = 2; }},
          {"layer 'add': reads a tensor [2, 2, 2, 12]; expected [2, 2, 1, 12]",
           [](Graph& g) { g.tensors[6].shape.width = 1; }},
          {"layer 'flatten': output shape [2, 1, 1, 47]; expected [2, 1, 1, 48]",
           [](Graph& g) { g.tensors[7].shape.channels = 47; }},
          {"layer 'fc': reads a picture [2, 2, 2, 12]; flatten it first",
           [](Graph& g) {
             g.layers[6].operation = Activation{};
             g.tensors[7] = g.tensors[6];
           }},
          {"layer 'fc': output shape [1, 1, 1, 10]; expected [2, 1, 1, 10]",
           [](Graph& g) { g.tensors[8].shape.batch = 1; }},
      });
}

TEST(Graph, RefusesBrokenOrder) {
  expect_refusals(
      small_float_network(),
      {
          {"graph 'small' has no layers", [](Graph& g) { g.layers.clear(); }},
          {"two layers are called 'conv'; names must be unique",
           [](Graph& g) { g.layers[7].name = "conv"; }},
          {"layer 'add': reads 1 tensors; add reads 2", [](Graph& g) { g.layers[5].inputs = {5}; }},
          {"layer 'clip': reads the output of layer 'average', which is not before it; put it "
           "after the layers that it reads",
           [](Graph& g) { g.layers[1].inputs = {4}; }},
          {"layer 'conv': no layer reads its output; only the last layer's output is the network's",
           [](Graph& g) { g.layers[1].inputs = {0}; }},
      });
}

TEST(Graph, TakesAnotherBatchInEveryTensor) {
  Graph graph = small_float_network();
  set_batch(graph, 7);
  EXPECT_EQ(refusal(graph), "");
  EXPECT_EQ(graph.input_shape(), (ImageShape{7, 6, 6, 4}));
  EXPECT_EQ(graph.output_shape(), (ImageShape{7, 1, 1, 10}));
}

TEST(Graph, NamesEveryOperation) {
  using Kind = Activation::Kind;
  EXPECT_EQ(operation_name(Conv2d{}), "conv2d");
  EXPECT_EQ(operation_name(FullyConnected{}), "fully_connected");
  EXPECT_EQ(operation_name(MaxPool{}), "max_pool");
  EXPECT_EQ(operation_name(AveragePool{}), "average_pool");
  EXPECT_EQ(operation_name(Add{}), "add");
  EXPECT_EQ(operation_name(Concat{}), "concat");
  EXPECT_EQ(operation_name(LookupTable{}), "lookup_table");
  EXPECT_EQ(operation_name(PRelu{}), "prelu");
  EXPECT_EQ(operation_name(Relu{}), "relu");
  EXPECT_EQ(operation_name(Flatten{}), "flatten");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kRelu}), "relu");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kClip}), "clip");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kLeakyRelu}), "leaky_relu");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kSigmoid}), "sigmoid");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kHardSigmoid}), "hard_sigmoid");
  EXPECT_EQ(operation_name(Activation{.kind = Kind::kHardSwish}), "hard_swish");
}

TEST(Graph, RefusesSizesThatDoNotFit64Bits) {
  Graph graph = small_network();
  graph.input_value().shape = {1 << 20, std::int64_t{1} << 30, std::int64_t{1} << 30, 3};
  EXPECT_EQ(refusal(graph).find("graph input: size overflow: "), 0u) << refusal(graph);
  graph = small_network();
  conv(graph).window.pad_top = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal(graph).find("layer 'conv': size overflow: "), 0u) << refusal(graph);
}

TEST(Graph, CountsUsefulMacsOverTheBatch) {
  const Graph graph = small_network();
  EXPECT_EQ(layer_macs(graph, 0), 2 * 6 * 6 * 8 * 3 * 3 * 3);
  EXPECT_EQ(layer_macs(graph, 1), 0);
  EXPECT_EQ(layer_macs(graph, 2), 0);
  EXPECT_EQ(layer_macs(graph, 4), 2 * 10 * 72);
}

// Windows start at -pad_begin, one stride apart. Without ceil_mode a window must end inside the
// padded picture; with it, it must start before the trailing pad and may hang over.
std::int64_t walk_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil_mode) {
  std::int64_t count = 0;
  for (std::int64_t start = -pad_begin;; start += stride, ++count) {
    const bool fits = start + kernel <= size + pad_end;
    if (fits) {
      if (ceil_mode && start >= size) break;
      continue;
    }
    // The first window that hangs over still counts with ceil_mode when its predecessor did not
    // reach the end.
    const bool covered = start - stride + kernel >= size + pad_end;
    if (ceil_mode && !covered && start < size) ++count;
    break;
  }
  return count;
}

TEST(Graph, ErrorsCallALayerByItsSourceAndElseByItsName) {
  EXPECT_EQ(layer_place("conv1"), "layer 'conv1'");
  EXPECT_EQ(layer_place("conv1", "net.yaml:4:5: layer 'conv1'"), "net.yaml:4:5: layer 'conv1'");
}

TEST(Graph, CountsWindowsAsOnnxDoes) {
  std::int64_t with_overhang = 0;
  for (std::int64_t size = 1; size <= 12; ++size) {
    for (std::int64_t kernel = 1; kernel <= 5; ++kernel) {
      for (std::int64_t stride = 1; stride <= 5; ++stride) {
        for (std::int64_t pad_begin = 0; pad_begin < kernel; ++pad_begin) {
          for (std::int64_t pad_end = 0; pad_end < kernel; ++pad_end) {
            if (size + pad_begin + pad_end < kernel) continue;
            for (const bool ceil_mode : {false, true}) {
              const auto count = window_count(size, kernel, stride, pad_begin, pad_end, ceil_mode);
              ASSERT_EQ(count, walk_windows(size, kernel, stride, pad_begin, pad_end, ceil_mode))
                  << "size " << size << " kernel " << kernel << " stride " << stride << " pads "
                  << pad_begin << " " << pad_end << " ceil_mode " << ceil_mode;
              with_overhang += ceil_mode && count > window_count(size, kernel, stride, pad_begin,
                                                                 pad_end, false);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(with_overhang, 100);
  EXPECT_EQ(window_count(2, 3, 1, 0, 0), 0);
}

}  // namespace
}  // namespace qsim
